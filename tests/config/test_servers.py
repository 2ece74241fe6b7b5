"""Entries of servers: remote ones, and what may be shown of any."""

import json
from typing import Any

import pytest

from mcp_workbench.config.concealing import conceal_arguments, conceal_url
from mcp_workbench.config.loading import LoadedConfig, parse_config
from mcp_workbench.config.models import RemoteServer, ServerConfig, StdioServer
from mcp_workbench.errors import ConfigError

SERVER = "toolboxes.dev.mcpServers.api"
URL = "https://mcp.example.com/mcp"
ENVIRON = {"TOKEN": "s3cret-token", "HOST": "mcp.example.com", "LINES": "a\nb", "EMPTY": ""}


def load(entry: dict[str, Any], environ: dict[str, str] = ENVIRON) -> LoadedConfig:
    document = {"toolboxes": {"dev": {"description": "Work", "mcpServers": {"api": entry}}}}
    return parse_config(json.dumps(document), "c.json", environ)


def notes(loaded: LoadedConfig) -> tuple[str, ...]:
    return tuple(note.partition(": ")[2] for note in loaded.notes)


def read(entry: dict[str, Any], environ: dict[str, str] = ENVIRON) -> ServerConfig:
    return load(entry, environ).config.toolboxes["dev"].servers["api"]


def remote(**entry: Any) -> RemoteServer:
    server = read({"url": URL, **entry})
    assert isinstance(server, RemoteServer)
    return server


def problems(entry: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(entry)
    return [problem.removeprefix(SERVER) for problem in caught.value.problems]


class TestRemoteServers:
    def test_an_entry_with_a_url_is_remote_and_the_shared_keys_hold(self) -> None:
        server = remote(toolFilters=["read"], connectTimeout=5, callTimeout=6, idleTimeout=7)
        assert (server.url, server.headers, server.kind, server.allow_insecure, server.oauth) == (
            *(URL, {}, None, False, None),
        )
        assert (server.tool_filters, server.connect_timeout, server.call_timeout) == (("read",), 5, 6)
        assert server.idle_timeout == 7

    def test_headers_take_variables(self) -> None:
        server = remote(headers={"Authorization": "Bearer ${TOKEN}", "X-Retries": 3, "X-Debug": True, "X-Empty": ""})
        assert server.headers == {
            "Authorization": "Bearer s3cret-token",
            "X-Retries": "3",
            "X-Debug": "true",
            "X-Empty": "",
        }

    @pytest.mark.parametrize("key", ["url", "serverUrl", "httpUrl"])
    def test_the_address_may_be_spelt_as_other_clients_do(self, key: str) -> None:
        server = read({key: "https://${HOST}/"})
        assert isinstance(server, RemoteServer)
        assert server.url == "https://mcp.example.com/"
        assert problems({key: "mcp.example.com"}) == [f".{key}: must begin with https:// (or http://)"]

    @pytest.mark.parametrize("key", ["transport", "type"])
    @pytest.mark.parametrize(
        ("name", "kind"), [("http", "http"), ("streamable-http", "http"), ("streamableHttp", "http"), ("sse", "sse")]
    )
    def test_the_transport_may_be_chosen(self, key: str, name: str, kind: str) -> None:
        assert remote(**{key: name}).kind == kind

    def test_both_spellings_of_the_transport_may_agree(self) -> None:
        assert remote(transport="http", type="streamable-http").kind == "http"

    def test_a_login_may_be_described(self) -> None:
        server = remote(
            oauth={
                "clientId": "me",
                "clientSecret": "${TOKEN}",
                "scopes": ["read", "write"],
                "callbackPort": 3118,
                "grant": "client_credentials",
                "_comment": "kept",
            }
        )
        assert server.oauth is not None
        assert (server.oauth.client_id, server.oauth.client_secret) == ("me", "s3cret-token")
        assert (server.oauth.scopes, server.oauth.callback_port) == (("read", "write"), 3118)
        assert server.oauth.grant == "client_credentials"

    def test_scopes_may_be_one_text(self) -> None:
        server = remote(oauth={"scopes": "read  write"})
        assert server.oauth is not None
        assert server.oauth.scopes == ("read", "write")

    def test_keys_of_a_program_beside_a_url_are_noted(self) -> None:
        loaded = load({"url": URL, "args": ["x"], "env": {"A": "${UNSET}"}, "inheritEnv": True})
        assert notes(loaded) == (f"{SERVER}: ignored unknown keys: 'args', 'env', 'inheritEnv'",)

    def test_keys_of_a_remote_server_beside_a_command_are_noted(self) -> None:
        loaded = load({"command": "npx", "headers": {"A": "${UNSET}"}})
        assert notes(loaded) == (f"{SERVER}: ignored unknown keys: 'headers'",)


class TestMistakes:
    @pytest.mark.parametrize(
        ("entry", "problem"),
        [
            ({"url": URL, "command": "npx"}, ": has a 'command' and a 'url'; keep the one for a program"),
            ({"serverUrl": URL, "command": "npx"}, ": has a 'command' and a 'serverUrl'; keep the one"),
            ({}, ".command: is required to start the server; a server elsewhere has a 'url' instead"),
            ({"headers": {}}, ".command: is required to start the server; a server elsewhere has a 'url' instead"),
            ({"url": 3}, ".url: must be a string"),
            ({"url": None}, ".url: must be a string"),
            ({"url": ""}, ".url: must begin with https:// (or http://)"),
            ({"url": "mcp.example.com/mcp"}, ".url: must begin with https:// (or http://)"),
            ({"url": "localhost:8000"}, ".url: must begin with https:// (or http://)"),
            ({"url": "ftp://example.com"}, ".url: must begin with https:// (or http://)"),
            ({"url": "${EMPTY}"}, ".url: must begin with https:// (or http://)"),
            ({"url": "https://"}, ".url: is not a complete address; write it as https://host/path"),
            ({"url": "https:///mcp"}, ".url: is not a complete address"),
            ({"url": "https://a b/"}, ".url: is not a complete address"),
            ({"url": "https://a/\n"}, ".url: is not a complete address"),
            ({"url": "https://a:port/"}, ".url: is not an address that can be read"),
            ({"url": "https://a:99999/"}, ".url: is not an address that can be read"),
            ({"url": "https://[::1/"}, ".url: is not an address that can be read"),
            ({"url": URL, "headers": []}, ".headers: must be an object"),
            ({"url": URL, "headers": {"Bad Name": "x"}}, '.headers["Bad Name"]: is not the name of an HTTP header'),
            ({"url": URL, "headers": {"": "x"}}, '.headers[""]: is not the name of an HTTP header'),
            ({"url": URL, "headers": {"A:": "x"}}, ".headers.A:: is not the name of an HTTP header"),
            ({"url": URL, "headers": {"A": None}}, ".headers.A: must be a string"),
            ({"url": URL, "headers": {"A": "${LINES}"}}, ".headers.A: must be one line of ASCII text"),
            ({"url": URL, "headers": {"A": "a\r"}}, ".headers.A: must be one line of ASCII text"),
            ({"url": URL, "headers": {"A": "é"}}, ".headers.A: must be one line of ASCII text"),
            ({"url": URL, "headers": {"A": "1", "a": "2"}}, ".headers: holds a header twice"),
            ({"url": URL, "transport": "stdio"}, '.transport: must be "http" or "sse" beside a \'url\''),
            ({"url": URL, "type": "websocket"}, '.type: must be "http" or "sse" beside a \'url\''),
            ({"url": URL, "type": 1}, '.type: must be "http" or "sse" beside a \'url\''),
            ({"url": URL, "type": "http", "transport": "sse"}, ".type: contradicts 'transport' beside it"),
            ({"url": URL, "allowInsecure": "yes"}, ".allowInsecure: must be true or false"),
            ({"url": URL, "oauth": True}, ".oauth: must be an object"),
            ({"url": URL, "oauth": {"clientID": "x"}}, ".oauth.clientID: unknown key; did you mean 'clientId'?"),
            ({"url": URL, "oauth": {"audience": "x"}}, ".oauth: unknown keys: 'audience'"),
            ({"url": URL, "oauth": {"callbackPort": 0}}, ".oauth.callbackPort: must be a port number from 1 to 65535"),
            ({"url": URL, "oauth": {"callbackPort": "80"}}, ".oauth.callbackPort: must be a port number"),
            ({"url": URL, "oauth": {"grant": "password"}}, '.oauth.grant: must be "client_credentials"'),
            ({"url": URL, "oauth": {"scopes": [1]}}, ".oauth.scopes[0]: must be a string"),
            ({"url": URL, "oauth": {"clientSecret": "x"}}, ".oauth: clientSecret needs a clientId beside it"),
            ({"url": URL, "oauth": {"grant": "client_credentials"}}, '.oauth: the grant "client_credentials" needs'),
            ({"URL": URL}, ".URL: unknown key; did you mean 'url'?"),
            ({"url": URL, "header": {}}, ".header: unknown key; did you mean 'headers'?"),
        ],
    )
    def test_each_is_one_sentence_at_its_place(self, entry: dict[str, Any], problem: str) -> None:
        (found,) = problems(entry)
        assert found.startswith(problem)


class TestSecrets:
    def test_values_of_headers_and_of_the_login_are_secret(self) -> None:
        loaded = load(
            {
                "url": URL,
                "headers": {"Authorization": "Bearer literal", "X-Team": "blue"},
                "oauth": {"clientId": "me", "clientSecret": "hush"},
            }
        )
        assert loaded.secrets == {"Bearer literal", "literal", "blue", "hush"}

    def test_a_user_and_a_password_in_the_address_are_secret_and_noted(self) -> None:
        loaded = load({"url": "https://me:p%40ss@mcp.example.com/"})
        assert loaded.secrets == {"me", "p%40ss", "p@ss"}
        (note,) = notes(loaded)
        assert note.startswith(f"{SERVER}.url: a user or password in it is kept secret")

    def test_none_is_in_the_repr(self) -> None:
        server = remote(headers={"A": "literal"}, oauth={"clientId": "me", "clientSecret": "hush"})
        assert "literal" not in repr(server)
        assert "hush" not in repr(server)


class TestDescriptions:
    def test_a_program_is_its_command_line(self) -> None:
        assert read({"command": "npx", "args": ["-y", "a b"]}).describe() == "npx -y 'a b'"

    def test_a_remote_server_is_its_address_without_secrets(self) -> None:
        server = remote(url="https://me:pass@host:8443/v1/0123456789abcdef0123456789/mcp?key=abc&x=1#part")
        assert server.describe() == "https://host:8443/v1/***/mcp?key=***&x=***"

    @pytest.mark.parametrize(
        ("args", "shown"),
        [
            (["--token", "hunter2", "--port", "80"], ["--token", "***", "--port", "80"]),
            (["--api-key=hunter2"], ["--api-key=***"]),
            (["API_TOKEN=hunter2"], ["API_TOKEN=***"]),
            (["Authorization: Bearer hunter2"], ["Authorization: ***"]),
            (["ghp_0123456789abcdefghijklmnopqrst"], ["***"]),
            (["--url=https://me:pass@host/?k=v"], ["--url=https://me:***@host/?k=***"]),
            (["postgres://me:pass@host/db"], ["postgres://me:***@host/db"]),
            (["--token", "${TOKEN}"], ["--token", "${TOKEN}"]),
            (["-y", "@scope/server-filesystem@2026.1.14", "."], ["-y", "@scope/server-filesystem@2026.1.14", "."]),
            (["/home/me/projects/some-long-directory-name/server_v2.py"],) * 2,
        ],
    )
    def test_arguments_are_shown_unless_they_are_secrets(self, args: list[str], shown: list[str]) -> None:
        assert list(conceal_arguments(args)) == shown

    def test_an_address_that_cannot_be_read_is_not_shown(self) -> None:
        assert conceal_url("https://[me:pass@host") == "***"


class TestIdentities:
    def test_it_does_not_depend_on_the_values_of_variables_and_does_not_hold_them(self) -> None:
        entry = {"command": "npx", "args": ["x", "${TOKEN}"], "env": {"A": "${TOKEN}"}, "cwd": "${HOST}"}
        identity = read(entry).identity()
        assert identity == read(entry, {"TOKEN": "other", "HOST": "elsewhere"}).identity()
        assert "s3cret" not in identity
        assert "mcp.example.com" not in identity

    def test_the_same_of_an_address(self) -> None:
        entry = {"url": "https://${HOST}/${TOKEN}", "headers": {"A": "${TOKEN}"}}
        identity = read(entry).identity()
        assert identity == read(entry, {"TOKEN": "other", "HOST": "elsewhere"}).identity()
        assert "s3cret" not in identity

    def test_a_secret_that_was_typed_into_the_file_is_not_in_it(self) -> None:
        entry = {"command": "npx", "args": ["--token", "hunter2"], "env": {"A": "hunter2"}}
        assert "hunter2" not in read(entry).identity()
        assert "hunter2" not in read({"url": "https://a/?key=hunter2", "headers": {"A": "hunter2"}}).identity()

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"command": "npx", "args": ["a"]}, {"command": "npx", "args": ["b"]}),
            ({"command": "npx", "args": ["a"]}, {"command": "npx", "args": ["a"], "cwd": "/b"}),
            ({"command": "npx"}, {"command": "uvx"}),
            ({"command": "a"}, {"url": "https://a/"}),
            ({"url": "https://a/"}, {"url": "https://a/mcp"}),
        ],
    )
    def test_different_servers_have_different_ones(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        assert read(one).identity() != read(other).identity()

    def test_an_entry_that_came_from_no_file_has_one(self) -> None:
        assert StdioServer(command="npx", args=("a",)).identity() == read({"command": "npx", "args": ["a"]}).identity()


def test_entries_are_equal_when_they_mean_the_same() -> None:
    assert read({"command": "${TOKEN}"}) == read({"command": "s3cret-token"}) != read({"command": "x"})
