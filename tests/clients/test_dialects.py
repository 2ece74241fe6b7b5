"""Each client's file, in the form that its documentation gives it, as servers of the workbench."""

from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.clients.entries import NotTakenOver, make_entry
from mcp_workbench.clients.locations import CLIENTS, Machine
from mcp_workbench.clients.purposes import purpose_of
from mcp_workbench.clients.reading import ClientFile, FoundServer, named_file
from mcp_workbench.config.document import Json

FIXTURES = Path(__file__).parent / "fixtures"

EXPECTED: dict[tuple[str, str], dict[str, Any]] = {
    ("claude-desktop", "claude_desktop_config.json"): {
        "filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/Documents"],
        },
        "tickets": {
            "url": "https://mcp.linear.app/sse",
            "transport": "sse",
            "headers": {"Authorization": "Bearer ${TICKETS_AUTHORIZATION}"},
            "oauth": {"callbackPort": 9696},
            "toolFilters": ["!delete*"],
        },
    },
    ("claude-code", "claude.json"): {
        "sentry": {
            "url": "https://mcp.sentry.dev/mcp",
            "transport": "http",
            "callTimeout": 120,
            "oauth": {"clientId": "abc", "callbackPort": 8123},
        },
        "local": {"command": "./server", "cwd": "/", "disabled": True},
    },
    ("claude-code", ".mcp.json"): {
        "api": {
            "url": "${API_BASE:-https://api.example.com}/sse",
            "transport": "sse",
            "headers": {"Authorization": "Bearer ${API_TOKEN}"},
        }
    },
    ("cursor", "cursor.json"): {
        "tools": {
            "command": "${HOME}/bin/tools",
            "args": ["--root", "${WORKSPACE_FOLDER:-.}", "/"],
            "env": {"API_KEY": "${MY_KEY}"},
            "envFile": "/home/me/tools.env",
        },
        "hosted": {
            "url": "https://mcp.example.com/mcp",
            "oauth": {"clientId": "the-id", "clientSecret": "${HOSTED_CLIENT_SECRET}", "scopes": ["read", "write"]},
        },
    },
    ("vscode", "vscode.json"): {
        "search": {
            "command": "npx",
            "args": ["-y", "search-server", "--region", "${REGION:-eu}"],
            "env": {"SEARCH_KEY": "${SEARCH_KEY}"},
            "dev": {"watch": ["build/**/*.js"]},
        },
        "hosted": {"url": "https://api.githubcopilot.com/mcp/", "transport": "http"},
    },
    ("windsurf", "mcp_config.json"): {
        "hosted": {
            "url": "https://mcp.example.com/mcp",
            "headers": {"API_KEY": "Bearer ${HOSTED_TOKEN}"},
            "toolFilters": ["!remove"],
            "disabled": True,
        }
    },
    ("zed", "zed.json"): {
        "new": {"command": "uvx", "args": ["mcp-server-git"]},
        "old": {"command": "/opt/old", "args": ["--stdio"], "env": {"OLD_TOKEN": "${OLD_TOKEN}"}},
        "hosted": {
            "url": "https://mcp.example.com/mcp",
            "headers": {"Authorization": "Bearer ${HOSTED_AUTHORIZATION}"},
        },
        "mcp-server-context7": "an extension of Zed's starts it, in a way that only Zed knows",
    },
    ("cline", "cline_mcp_settings.json"): {
        "local": {
            "command": "node",
            "args": ["/opt/server.js"],
            "env": {"API_KEY": "${API_KEY}"},
            "callTimeout": 90,
        },
        "hosted": {
            "url": "https://mcp.example.com/mcp",
            "transport": "http",
            "headers": {"Authorization": "Bearer ${HOSTED_AUTHORIZATION}"},
            "disabled": True,
        },
    },
    ("codex", "config.toml"): {
        "docs": {
            "command": "npx",
            "args": ["-y", "@upstash/context7-mcp"],
            "env": {"DOCS_TOKEN": "${DOCS_TOKEN}"},
            "inheritEnv": ["MY_TEAM", "MY_STAGE"],
            "connectTimeout": 45,
            "callTimeout": 90.5,
            "toolFilters": ["search", "fetch", "!fetch"],
        },
        "hosted": {
            "url": "https://mcp.example.com/mcp",
            "headers": {
                "X-Region": "${HOSTED_X_REGION}",
                "Authorization": "Bearer ${HOSTED_TOKEN}",
                "X-Team": "${TEAM_HEADER}",
            },
            "disabled": True,
        },
    },
    ("gemini-cli", "gemini.json"): {
        "python": {
            "command": "python",
            "args": ["-m", "tools", "--key=${TOOLS_KEY}"],
            "cwd": "/opt/tools",
            "env": {"DB": "${DB_URL}"},
            "callTimeout": 15,
            "toolFilters": ["run", "list", "!list"],
        },
        "stream": {
            "url": "https://mcp.example.com/mcp",
            "transport": "http",
            "headers": {"Authorization": "Bearer ${STREAM_TOKEN}"},
        },
        "off": {"url": "https://mcp.example.com/sse", "disabled": True},
    },
    ("opencode", "opencode.jsonc"): {
        "everything": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-everything"],
            "env": {"LEVEL": "${MY_LEVEL}"},
            "connectTimeout": 60,
            "disabled": True,
        },
        "hosted": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${HOSTED_TOKEN}"}},
    },
    ("opencode", "opencode-v2.json"): {
        "local": {"command": "bun", "args": ["x", "my-server"], "cwd": "/opt", "disabled": True}
    },
    ("lm-studio", "lmstudio.json"): {
        "hf-mcp-server": {
            "url": "https://huggingface.co/mcp",
            "headers": {"Authorization": "Bearer ${HF_MCP_SERVER_AUTHORIZATION}"},
            "callTimeout": 30,
        }
    },
}


def entry_of(found: FoundServer) -> dict[str, Json] | str:
    try:
        return make_entry(found, "linux", lambda variable, _secret, _place: f"${{{variable}}}").content
    except NotTakenOver as error:
        return str(error)


@pytest.mark.parametrize(("client", "file"), list(EXPECTED), ids=[file for _, file in EXPECTED])
def test_the_file_of_a_client_is_understood(client: str, file: str) -> None:
    servers = ClientFile(CLIENTS[client], FIXTURES / file).read() or []
    assert {server.name: entry_of(server) for server in servers} == EXPECTED[client, file]


def test_every_client_has_a_fixture() -> None:
    assert {client for client, _ in EXPECTED} == set(CLIENTS)
    described = (FIXTURES / "README.md").read_text(encoding="utf-8")
    assert not [file for _, file in EXPECTED if f"`{file}`" not in described]


def test_the_client_of_a_file_that_is_named_shows_in_what_it_holds() -> None:
    machine = Machine("linux", {}, Path("/home/me"), Path("/work"))
    shown = {"claude.json", ".mcp.json", "vscode.json", "zed.json", "config.toml", "opencode.jsonc", "mcp_config.json"}
    for client, file in EXPECTED:
        if file in shown:
            assert named_file(FIXTURES / file, None, machine).client.id == client, file


@pytest.mark.parametrize(
    "args",
    [
        ["mcp-remote", "https://x.example/mcp", "--resource", "https://tenant.example"],
        ["mcp-remote", "https://x.example/mcp", "--unheard-of"],
        ["mcp-remote", "not an address"],
        ["mcp-remote"],
        ["mcp-remote", "https://x.example/mcp", "--static-oauth-client-info", "@/file.json"],
    ],
)
def test_a_bridge_that_says_more_than_a_remote_entry_can_stays_a_bridge(args: list[str]) -> None:
    found = FoundServer(CLIENTS["cursor"], Path("f"), "x", {"command": "npx", "args": list[Json](args)})
    entry = make_entry(found, "linux", lambda _variable, secret, _place: secret)
    assert entry.content == {"command": "npx", "args": args}
    assert "stays a bridge to a remote server" in entry.notes[0]


@pytest.mark.parametrize(
    "line",
    [
        ["npx", "mcp-remote", "https://x.example/mcp"],
        ["cmd", "/c", "npx", "-y", "mcp-remote@0.1.29", "https://x.example/mcp", "--debug"],
        ["C:\\Program Files\\nodejs\\npx.cmd", "-y", "mcp-remote", "https://x.example/mcp"],
        ["pnpm", "dlx", "mcp-remote", "https://x.example/mcp", "--host", "127.0.0.1"],
        ["bunx", "mcp-remote", "https://x.example/mcp", "--transport", "http-first"],
        ["/usr/local/bin/mcp-remote", "https://x.example/mcp"],
    ],
)
def test_a_bridge_becomes_its_server_however_it_is_started(line: list[str]) -> None:
    found = FoundServer(CLIENTS["cursor"], Path("f"), "x", {"command": line[0], "args": list[Json](line[1:])})
    entry = make_entry(found, "linux", lambda _variable, secret, _place: secret)
    assert entry.content == {"url": "https://x.example/mcp"}
    assert entry.notes == ("reached directly, without mcp-remote",)


def test_a_bridges_login_and_insecure_address_are_said_in_our_words() -> None:
    info = '{"client_id": "id", "client_secret": "sesame"}'
    args = ["mcp-remote", "http://x.example/mcp", "--allow-http", "--static-oauth-client-info", info]
    found = FoundServer(CLIENTS["cursor"], Path("f"), "x", {"command": "npx", "args": list[Json](args)})
    assert entry_of(found) == {
        "url": "http://x.example/mcp",
        "oauth": {"clientId": "id", "clientSecret": "${X_CLIENT_SECRET}"},
        "allowInsecure": True,
    }


@pytest.mark.parametrize(
    ("entry", "toolbox"),
    [
        ({"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"]}, "code"),
        (
            {"command": "/usr/bin/docker", "args": ["run", "-i", "-e", "X=git", "ghcr.io/github/github-mcp-server"]},
            "code",
        ),
        ({"command": "uvx", "args": ["--from", "git+https://example.org/x", "mcp-server-fetch"]}, "web"),
        ({"command": "cmd", "args": ["/c", "npx", "@playwright/mcp@latest"]}, "web"),
        ({"command": "python", "args": ["-m", "mcp_server_sqlite"]}, "databases"),
        ({"url": "https://mcp.linear.app/sse"}, "work"),
        ({"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/github"]}, "files"),
        ({"command": "npx", "args": ["-y", "my-own-server", "/home/me/github"]}, None),
        ({"command": "x", "args": ["postgres"]}, None),
        ({"command": "npx"}, None),
        ({"url": "https://[bad"}, None),
    ],
)
def test_what_a_server_is_for_is_told_by_what_it_is_alone(entry: dict[str, Json], toolbox: str | None) -> None:
    purpose = purpose_of(entry)
    assert (purpose.toolbox if purpose else None) == toolbox
