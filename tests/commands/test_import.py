"""`mcp-workbench import`: other clients' servers become toolboxes."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mcp_workbench.clients.env_file import read_variables
from mcp_workbench.commands import import_
from mcp_workbench.config.loading import load_config
from mcp_workbench.config.models import StdioServer
from mcp_workbench.errors import ConfigError, WorkbenchError
from terminal import terminal
from wire import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the homes of these tests are laid out as on Linux")

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
OTHER_TOKEN = "ghp_zyxwvutsrqponmlkjihgfedcba9876543210"
DESKTOP = ".config/Claude/claude_desktop_config.json"


class Home:
    """A person's home directory, with a project in it that is the current directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "app"
        self.project.mkdir()

    @property
    def config(self) -> Path:
        here = self.project / "workbench-config.json"
        return here if here.exists() else self.root / ".config/mcp-workbench/workbench-config.json"

    @property
    def secrets(self) -> dict[str, str]:
        return read_variables(self.config.with_suffix(".env"))

    def write(self, path: str, content: object) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return file

    def servers(self, path: str, **servers: object) -> Path:
        return self.write(path, {"mcpServers": servers})

    def toolboxes(self) -> dict[str, Any]:
        return json.loads(self.config.read_text())["toolboxes"]

    def load(self, **environ: str) -> None:
        load_config(self.config, {"HOME": str(self.root), **self.secrets, **environ})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in list(os.environ):
        if name not in {"PATH"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    place = Home(tmp_path)
    monkeypatch.chdir(place.project)
    return place


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", action="append")
    import_.add_arguments(parser)
    return import_.run(parser.parse_args(arguments))


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    run("--json", *arguments)
    return json.loads(capsys.readouterr().out)


def statuses(found: Mapping[str, Any]) -> dict[str, str]:
    return {f"{server['toolbox']}/{server['server']}": server["status"] for server in found["servers"]}


class TestWhatIsFound:
    def test_every_clients_servers_go_into_toolboxes_by_where_they_came_from(self, home: Home) -> None:
        home.servers(DESKTOP, files={"command": "npx", "args": ["-y", "fs"]})
        home.write(
            ".claude.json",
            {
                "mcpServers": {"mine": {"type": "stdio", "command": "uvx", "args": ["a"], "env": {}}},
                "projects": {str(home.project): {"mcpServers": {"local": {"command": "local"}}}},
            },
        )
        home.servers("app/.mcp.json", shared={"command": "shared"})
        home.servers(".cursor/mcp.json", cursed={"command": "c"})
        home.write(".config/Code/User/mcp.json", '{"servers": {"code": {"command": "v",},}, /* x */}')
        home.write("app/.vscode/mcp.json", {"servers": {"here": {"command": "h"}}})
        assert run() == 0
        assert {name: list(box["mcpServers"]) for name, box in home.toolboxes().items()} == {
            "claude-desktop": ["files"],
            "claude-code": ["mine"],
            "app": ["local"],
            "cursor": ["cursed"],
            "vscode": ["code"],
        }
        home.load()

    def test_what_a_project_brings_along_is_shown_and_taken_only_when_its_file_is_named(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shared = home.servers("app/.mcp.json", shared={"command": "evil\u001b[1K", "args": ["\u202e"]})
        home.write("app/.vscode/mcp.json", {"servers": {"here": {"command": "h"}}})
        assert run() == 0
        shown = capsys.readouterr().out
        assert "? shared  evil\\x1b[1K \\u202e" in shown
        assert f"mcp-workbench import --from {shared}" in shown
        assert "\u001b" not in shown
        assert not home.config.exists()
        run("--from", str(shared), "--from", ".vscode/mcp.json")
        assert list(home.toolboxes()["app"]["mcpServers"]) == ["shared", "here"]
        imports = json.loads((home.root / ".local/share/mcp-workbench/imports.json").read_text())["imports"]
        assert [each["file"] for each in imports] == [str(shared), str(home.project / ".vscode/mcp.json")]

    def test_a_projects_server_is_started_in_its_project(self, home: Home) -> None:
        home.servers("app/.mcp.json", a={"command": "./run.sh"}, b={"command": "x", "cwd": "sub"})
        run("--from", ".mcp.json")
        servers = home.toolboxes()["app"]["mcpServers"]
        assert servers["a"]["cwd"] == str(home.project)
        assert servers["b"]["cwd"] == str(home.project / "sub")

    def test_projects_of_the_same_name_get_toolboxes_of_their_own(self, home: Home) -> None:
        for name in ("x/app", "y/app"):
            (home.root / name).mkdir(parents=True)
        projects = {str(home.root / name): {"mcpServers": {"s": {"command": name}}} for name in ("x/app", "y/app")}
        home.write(".claude.json", {"projects": projects})
        run()
        assert list(home.toolboxes()) == ["app", "app-2"]

    def test_a_project_that_is_gone_is_reported(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.write(".claude.json", {"projects": {"/no/such/place": {"mcpServers": {"s": {"command": "x"}}}}})
        assert run() == 0
        assert "s: not taken over: its project is gone: /no/such/place" in capsys.readouterr().out
        assert not home.config.exists()

    def test_one_client_alone_can_be_named(self, home: Home) -> None:
        home.servers(DESKTOP, a={"command": "a"})
        home.servers(".cursor/mcp.json", b={"command": "b"})
        run("cursor")
        assert list(home.toolboxes()) == ["cursor"]

    def test_a_file_can_be_named_and_the_toolbox_too(self, home: Home) -> None:
        file = home.servers("backup.json", a={"command": "a"})
        run("--from", str(file), "--toolbox", "old stuff")
        assert list(home.toolboxes()["old stuff"]["mcpServers"]) == ["a"]

    def test_remote_servers_come_in_and_what_their_address_and_headers_hide_is_shown_nowhere(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(
            DESKTOP,
            tracker={"url": "https://mcp.example.com/sse?key=abcdef", "headers": {"Authorization": "Bearer xyz9876"}},
            other={"type": "streamable-http", "serverUrl": "https://other.example/mcp", "headers": {"X-Tenant": "me"}},
            socket={"type": "ws", "url": "wss://x.example"},
        )
        assert run() == 0
        shown = capsys.readouterr().out
        assert "socket: not taken over: it is reached by 'ws', and the workbench knows stdio, http and sse" in shown
        assert "abcdef" not in shown + home.config.read_text()
        assert "xyz9876" not in shown + home.config.read_text()
        assert home.toolboxes()["claude-desktop"]["mcpServers"] == {
            "tracker": {
                "url": "https://mcp.example.com/sse?key=${TRACKER_KEY}",
                "headers": {"Authorization": "Bearer ${TRACKER_AUTHORIZATION}"},
            },
            "other": {
                "url": "https://other.example/mcp",
                "transport": "http",
                "headers": {"X-Tenant": "${OTHER_X_TENANT}"},
            },
        }
        assert home.secrets == {
            "TRACKER_KEY": "abcdef",
            "TRACKER_AUTHORIZATION": "xyz9876",
            "OTHER_X_TENANT": "me",
        }
        home.load()

    def test_the_workbench_does_not_import_itself(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.servers(DESKTOP, workbench={"command": "/x/bin/mcp-workbench", "args": ["--config", "y"]})
        assert run() == 0
        assert "it is the workbench itself" in capsys.readouterr().out
        assert not home.config.exists()

    def test_disabled_servers_stay_disabled(self, home: Home) -> None:
        home.servers(DESKTOP, a={"command": "a", "disabled": True}, b={"command": "b", "enabled": False})
        run()
        assert [server["disabled"] for server in home.toolboxes()["claude-desktop"]["mcpServers"].values()] == [
            True
        ] * 2

    def test_a_server_that_its_project_switched_off_stays_off(self, home: Home) -> None:
        settings = {"mcpServers": {"s": {"command": "x"}}, "disabledMcpServers": ["s"]}
        home.write(".claude.json", {"projects": {str(home.project): settings}})
        run()
        assert home.toolboxes()["app"]["mcpServers"]["s"]["disabled"] is True

    def test_keys_that_mean_nothing_here_are_reported(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.servers(DESKTOP, a={"command": "a", "alwaysAllow": ["x"], "colour": "red", "toolFilters": ["x"]})
        run()
        shown = capsys.readouterr().out
        assert "as the workbench approves nothing, your client does: alwaysAllow" in shown
        assert "means nothing to the workbench: colour" in shown
        assert home.toolboxes()["claude-desktop"]["mcpServers"]["a"] == {"command": "a", "toolFilters": ["x"]}

    @pytest.mark.parametrize(
        ("entry", "reason"),
        [
            ("npx", "it is not a JSON object"),
            ({}, "it has no command"),
            ({"command": 3}, "it has no command"),
            ({"command": "x", "args": "y"}, "its args are not a list"),
            ({"command": "x", "args": [["y"]]}, "args[0] is not text"),
            ({"command": "x", "env": []}, "its env is not a JSON object"),
            ({"command": "x", "env": {"A": {}}}, "env.A is not text"),
            ({"command": "x", "connectTimeout": "soon"}, "connectTimeout"),
        ],
    )
    def test_an_entry_that_cannot_work_keeps_no_other_out(
        self, home: Home, capsys: pytest.CaptureFixture[str], entry: object, reason: str
    ) -> None:
        home.servers(DESKTOP, bad=entry, good={"command": "x"})
        assert run() == 0
        shown = capsys.readouterr().out
        assert "bad: not taken over: " in shown
        assert reason in shown
        assert list(home.toolboxes()["claude-desktop"]["mcpServers"]) == ["good"]

    def test_names_that_a_config_reads_otherwise_are_written_so_that_it_does_not(self, home: Home) -> None:
        home.servers(DESKTOP, **{"_hidden": {"command": "a"}, "${x}": {"command": "b"}, " ": {"command": "c"}})
        run()
        assert list(home.toolboxes()["claude-desktop"]["mcpServers"]) == ["hidden", "$${x}"]
        loaded = load_config(home.config, {})
        assert list(loaded.config.toolboxes["claude-desktop"].servers) == ["hidden", "${x}"]


class TestSecrets:
    def test_a_secret_goes_into_the_env_file_and_is_shown_nowhere(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(DESKTOP, github={"command": "x", "env": {"GITHUB_TOKEN": TOKEN, "LOG": "debug"}})
        run()
        env_file = home.config.with_suffix(".env")
        assert f"Wrote 1 variable to {env_file}, which only you can read." in capsys.readouterr().out
        assert TOKEN not in home.config.read_text()
        assert home.secrets == {"GITHUB_TOKEN": TOKEN}
        assert env_file.stat().st_mode & 0o777 == 0o600
        server = home.toolboxes()["claude-desktop"]["mcpServers"]["github"]
        assert server["env"] == {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LOG": "debug"}
        document = json.loads(home.config.read_text())
        assert (document["envFile"], document["unsetVariables"]) == ("workbench-config.env", "skip")
        home.load()

    def test_an_env_file_that_the_config_names_keeps_its_place_and_is_not_written_to(self, home: Home) -> None:
        own = home.write("app/own.env", "MINE=1\n")
        home.write("app/workbench-config.json", {"envFile": "own.env", "toolboxes": {}})
        home.servers(DESKTOP, a={"command": "x", "env": {"MINE": "1", "API_KEY": "k-12345"}})
        run()
        assert json.loads(home.config.read_text())["envFile"] == ["own.env", "workbench-config.env"]
        assert own.read_text() == "MINE=1\n"
        assert home.secrets == {"API_KEY": "k-12345"}

    def test_a_variable_of_the_shell_is_copied_so_that_every_client_has_it(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("SHELL_KEY", "from-the-shell")
        monkeypatch.setenv("PWD", str(home.project))
        home.servers(DESKTOP, a={"command": "x", "args": ["${PWD}"], "env": {"K": "${SHELL_KEY}", "H": "${HOME}"}})
        run()
        assert home.secrets == {"SHELL_KEY": "from-the-shell"}
        assert "from your shell, for clients that do not have it: SHELL_KEY" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            (["--api-key=xyz"], ["--api-key=${EXA_API_KEY}"]),
            (["--token", "xyz"], ["--token", "${EXA_TOKEN}"]),
            (["--token", "--verbose"], ["--token", "--verbose"]),
            (["-e", "EXA_KEY=xyz"], ["-e", "EXA_KEY=${EXA_KEY}"]),
            ([TOKEN], ["${EXA_SECRET}"]),
            (["--header", "Authorization: Bearer abc"], ["--header", "Authorization: Bearer ${EXA_AUTHORIZATION}"]),
            (["postgres://me:pw@db/x"], ["postgres://me:${EXA_PASSWORD}@db/x"]),
            (["-y", "@scope/server", "https://example.org", "8080"], None),
            (["--max-tokens", "4096", "--model", "claude-3-5-sonnet-20241022"], None),
        ],
    )
    def test_secrets_among_the_arguments(self, home: Home, args: list[str], expected: list[str] | None) -> None:
        home.servers(DESKTOP, exa={"command": "x", "args": args})
        run()
        assert home.toolboxes()["claude-desktop"]["mcpServers"]["exa"]["args"] == (expected or args)

    def test_two_secrets_of_one_name_get_two_variables_and_one_shared_secret_one(self, home: Home) -> None:
        home.servers(
            DESKTOP,
            a={"command": "a", "env": {"API_KEY": "first"}},
            b={"command": "b", "env": {"API_KEY": "second"}},
            c={"command": "c", "env": {"API_KEY": "first"}},
        )
        run()
        servers = home.toolboxes()["claude-desktop"]["mcpServers"]
        assert [server["env"]["API_KEY"] for server in servers.values()] == ["${API_KEY}", "${B_API_KEY}", "${API_KEY}"]

    def test_a_variable_that_means_something_else_in_this_shell_is_not_used(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("API_KEY", "another")
        monkeypatch.setenv("SET_KEY", "same")
        home.servers(DESKTOP, a={"command": "a", "env": {"API_KEY": "first", "SET_KEY": "same"}})
        run()
        assert home.toolboxes()["claude-desktop"]["mcpServers"]["a"]["env"] == {
            "API_KEY": "${A_API_KEY}",
            "SET_KEY": "${SET_KEY}",
        }

    def test_what_an_editor_asked_for_is_named_as_unknown(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.write(
            "app/.vscode/mcp.json",
            """{
              // asked once
              "inputs": [{"type": "promptString", "id": "pplx-key", "description": "Key", "password": true}],
              "servers": {"pplx": {"type": "stdio", "command": "npx",
                "args": ["${workspaceFolder}/x", "${config:y}"], "env": {"KEY": "${input:pplx-key}", "N": 3.10}}},
            }""",
        )
        run("--from", ".vscode/mcp.json")
        shown = capsys.readouterr().out
        assert "PPLX_KEY=...   # what the client asked you for (Key)" in shown
        assert "Until then the servers that need them are left out" in shown
        server = home.toolboxes()["app"]["mcpServers"]["pplx"]
        assert server["args"] == [f"{home.project}/x", "$${config:y}"]
        assert server["env"] == {"KEY": "${PPLX_KEY}", "N": "3.10"}
        home.load(PPLX_KEY="k")

    def test_a_shells_own_braces_reach_the_shell(self, home: Home) -> None:
        home.servers(DESKTOP, a={"command": "/bin/bash", "args": ["-c", "X=1; run ${X} ${HOME}"]})
        run()
        loaded = load_config(home.config, {})
        server = loaded.config.toolboxes["claude-desktop"].servers["a"]
        assert isinstance(server, StdioServer)
        assert server.args[1] == "X=1; run ${X} ${HOME}"


class TestMerging:
    def test_what_the_config_has_stays_character_for_character(self, home: Home) -> None:
        home.write(
            "app/workbench-config.json",
            '{ "_comment": "mine",\n   "toolboxes": {"dev":{"description":"D", "mcpServers":{}}}\n}\n',
        )
        home.servers(DESKTOP, a={"command": "a"})
        run()
        text = home.config.read_text()
        assert text.startswith('{ "_comment": "mine",\n   "toolboxes": {"dev":{"description":"D", "mcpServers":{}}')
        assert list(home.toolboxes()) == ["dev", "claude-desktop"]
        backups = list(home.project.glob("*.bak"))
        assert [backup.read_text()[:22] for backup in backups] == ['{ "_comment": "mine",\n']

    def test_importing_again_changes_nothing(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.servers(DESKTOP, a={"command": "a", "env": {"API_KEY": "x"}}, b={"command": "b"})
        home.servers(".cursor/mcp.json", c={"command": "c", "env": {"API_KEY": "y"}})
        run()
        text = home.config.read_text()
        capsys.readouterr()
        assert run() == 0
        assert "Nothing new" in capsys.readouterr().out
        assert home.config.read_text() == text
        assert list(home.config.parent.glob("*.bak")) == []

    def test_a_server_that_was_edited_in_the_config_is_left_as_it_is(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(DESKTOP, a={"command": "a"}, b={"command": "b"})
        run()
        edited = json.loads(home.config.read_text())
        edited["toolboxes"]["claude-desktop"]["mcpServers"]["a"]["toolFilters"] = ["one"]
        edited["toolboxes"]["claude-desktop"]["mcpServers"]["b"]["command"] = "better-b"
        home.config.write_text(json.dumps(edited))
        found = run_json(capsys)
        assert statuses(found) == {"claude-desktop/a": "present", "claude-desktop/b": "conflict"}
        assert (
            "was imported earlier and says something else than Claude Desktop by now" in found["servers"][1]["reason"]
        )
        assert home.toolboxes() == edited["toolboxes"]

    def test_an_entry_that_two_clients_share_is_taken_once(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for path in (DESKTOP, ".cursor/mcp.json"):
            home.servers(path, github={"command": "x", "env": {"GITHUB_TOKEN": TOKEN}})
        found = run_json(capsys)
        assert statuses(found) == {"claude-desktop/github": "new", "cursor/github": "duplicate"}
        assert list(home.toolboxes()) == ["claude-desktop"]

    def test_an_entry_that_a_project_shares_with_its_user_is_taken_once(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(".cursor/mcp.json", a={"command": "x"})
        file = home.servers("app/.cursor/mcp.json", a={"command": "x"})
        files = ("--from", str(home.root / ".cursor/mcp.json"), "--from", str(file))
        assert statuses(run_json(capsys, *files)) == {"cursor/a": "new", "app/a": "duplicate"}
        assert statuses(run_json(capsys, "--from", ".cursor/mcp.json")) == {"cursor/a": "present"}

    def test_the_same_server_with_another_account_is_another_server(self, home: Home) -> None:
        home.servers(DESKTOP, github={"command": "x", "env": {"GITHUB_TOKEN": TOKEN}})
        home.servers(".cursor/mcp.json", github={"command": "x", "env": {"GITHUB_TOKEN": OTHER_TOKEN}})
        run("claude-desktop")
        run("cursor")
        assert home.toolboxes()["cursor"]["mcpServers"]["github"]["env"] == {"GITHUB_TOKEN": "${CURSOR_GITHUB_TOKEN}"}

    def test_two_servers_of_one_name_in_one_toolbox_both_come_in(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(DESKTOP, db={"command": "one"})
        home.servers(".cursor/mcp.json", db={"command": "two"})
        run("--toolbox", "all")
        assert list(home.toolboxes()["all"]["mcpServers"]) == ["db", "db-cursor"]
        assert set(statuses(run_json(capsys, "--toolbox", "all")).values()) == {"present"}

    def test_a_config_that_does_not_load_is_not_touched(self, home: Home) -> None:
        home.write("app/workbench-config.json", '{"toolboxes": {"dev": {}}}')
        home.servers(DESKTOP, a={"command": "a"})
        with pytest.raises(ConfigError, match="description"):
            run()
        assert home.config.read_text() == '{"toolboxes": {"dev": {}}}'

    def test_variables_of_the_config_need_not_be_set_to_add_to_it(self, home: Home) -> None:
        server = {"command": "x", "env": {"K": "${NOT_SET}"}}
        home.write("app/workbench-config.json", {"toolboxes": {"d": {"description": "D", "mcpServers": {"s": server}}}})
        home.servers(DESKTOP, a={"command": "a"})
        assert run() == 0
        assert list(home.toolboxes()) == ["d", "claude-desktop"]

    def test_an_interrupted_write_leaves_the_old_config(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        home.write("app/workbench-config.json", '{"toolboxes": {}}')
        home.servers(DESKTOP, a={"command": "a"})

        def fail(source: str, target: str) -> NoReturn:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(WorkbenchError, match="cannot be written"):
            run()
        assert [(path.name, path.read_text()) for path in home.project.iterdir()] == [
            ("workbench-config.json", '{"toolboxes": {}}')
        ]

    def test_the_same_server_of_two_clients_with_different_accounts_is_kept_twice(self, home: Home) -> None:
        entry = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"]}
        home.servers(DESKTOP, github={**entry, "env": {"GITHUB_TOKEN": TOKEN}})
        home.servers(".cursor/mcp.json", github={**entry, "env": {"GITHUB_TOKEN": OTHER_TOKEN}})
        run("claude-desktop")
        run("cursor")
        box = home.toolboxes()["code"]
        assert list(box["mcpServers"]) == ["github", "github-cursor"]
        assert box["description"] == "Source code: repositories, reviews and builds: github, github-cursor"
        assert home.secrets == {"GITHUB_TOKEN": TOKEN, "GITHUB_CURSOR_GITHUB_TOKEN": OTHER_TOKEN}

    def test_a_description_in_a_persons_own_words_stays(self, home: Home) -> None:
        home.servers(DESKTOP, one={"command": "one"})
        run()
        edited = json.loads(home.config.read_text())
        edited["toolboxes"]["claude-desktop"]["description"] = "My own words"
        home.config.write_text(json.dumps(edited))
        home.servers(DESKTOP, one={"command": "one"}, two={"command": "two"})
        run()
        assert home.toolboxes()["claude-desktop"]["description"] == "My own words"
        assert list(home.toolboxes()["claude-desktop"]["mcpServers"]) == ["one", "two"]


class TestBadInput:
    def test_no_file_anywhere_says_where_it_looked(self, home: Home) -> None:
        with pytest.raises(WorkbenchError) as caught:
            run()
        assert f"{home.root}/{DESKTOP} (Claude Desktop): no such file" in str(caught.value)
        assert "--from FILE" in str(caught.value)

    def test_an_empty_file_has_no_servers(self, home: Home) -> None:
        home.write(DESKTOP, "")
        with pytest.raises(WorkbenchError, match="no servers in it"):
            run("claude-desktop")

    def test_a_broken_file_keeps_no_other_out_but_is_a_failure(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.write(DESKTOP, '{"mcpServers": {')
        home.write("app/.vscode/mcp.json", {"servers": "none"})
        home.servers(".cursor/mcp.json", a={"command": "a"})
        (home.root / ".claude.json").mkdir()
        assert run() == 1
        shown = capsys.readouterr().out
        assert "claude_desktop_config.json cannot be understood" in shown
        assert ".claude.json cannot be read: is a directory" in shown
        assert "servers is not a JSON object" in shown
        assert list(home.toolboxes()) == ["cursor"]

    def test_a_named_file_that_is_missing_or_a_workbench_config(self, home: Home) -> None:
        with pytest.raises(WorkbenchError, match="does not exist"):
            run("--from", "nothing.json")
        home.write("app/workbench-config.json", '{"toolboxes": {}}')
        with pytest.raises(WorkbenchError, match="is a workbench config already"):
            run("--from", str(home.config))

    @pytest.mark.parametrize("name", ["", " ", "_x"])
    def test_a_toolbox_name_that_no_toolbox_can_have_is_wrong_usage(self, home: Home, name: str) -> None:
        with pytest.raises(SystemExit) as caught:
            run("--toolbox", name)
        assert caught.value.code == 2


def test_a_dry_run_shows_the_change_and_writes_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.servers(DESKTOP, a={"command": "a", "env": {"API_KEY": "hunter22"}})
    assert run("--dry-run") == 0
    shown = capsys.readouterr().out
    assert '+        "a": {' in shown
    assert "hunter22" not in shown
    assert not home.config.exists()


def test_markup_in_names_is_shown_as_it_is(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.servers(DESKTOP, **{"[red]x[/red]": {"command": "a", "args": ["[/bold]"]}})
    run()
    shown = capsys.readouterr().out
    assert "[red]x[/red] -> claude-desktop/[red]x[/red]" in shown
    assert "[/bold]" in shown


@pytest.mark.anyio
async def test_in_a_terminal_a_person_is_asked_for_a_projects_file_and_for_what_only_they_know(tmp_path: Path) -> None:
    home = Home(tmp_path)
    inputs = [{"type": "promptString", "id": "search-key", "description": "Key", "password": True}]
    args = ["--token", "hunter22-x"]
    server = {"command": "x", "args": args, "env": {"KEY": "${input:search-key}"}}
    home.write("app/.vscode/mcp.json", {"inputs": inputs, "servers": {"search": server}})
    home.servers("app/.mcp.json", strange={"command": "strange"})
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "CLAUDE_CONFIG_DIR": ""}
    async with terminal("import", cwd=home.project, columns=200, env=env) as shown:
        await shown.shows("strange")
        await shown.shows("[y/N] ")
        shown.type("n")
        await shown.shows("search  x --token ***")
        await eventually(lambda: shown.text.count("[y/N] ") == 2)
        shown.type("yes")
        await shown.shows("SEARCH_KEY is what the client asked you for (Key).")
        await shown.shows("its value (hidden; empty to leave it unset): ")
        shown.type("typed-by-hand")
        assert await shown.status() == 0
    assert "typed-by-hand" not in shown.text
    assert "hunter22-x" not in shown.text
    assert list(home.toolboxes()["app"]["mcpServers"]) == ["search"]
    assert home.secrets == {"SEARCH_TOKEN": "hunter22-x", "SEARCH_KEY": "typed-by-hand"}


def test_the_whole_command_as_a_person_runs_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.servers(DESKTOP, a={"command": "a", "env": {"API_KEY": "hunter22"}}, b={"url": "https://x.example"})
    done = subprocess.run(
        [sys.executable, "-m", "mcp_workbench", "import", "--json"],
        cwd=home.project,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert statuses(found) == {"claude-desktop/a": "new", "claude-desktop/b": "new"}
    assert [variable["name"] for variable in found["variables"]] == ["API_KEY"]
    assert "hunter22" not in done.stdout
    assert home.secrets == {"API_KEY": "hunter22"}
    home.load()
