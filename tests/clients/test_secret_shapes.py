"""Every shape in which people write secrets into clients' files: none stays in clear, none is lost."""

import json
from pathlib import Path

import pytest

from mcp_workbench.clients.entries import make_entry
from mcp_workbench.clients.locations import CLIENTS
from mcp_workbench.clients.reading import FoundServer
from mcp_workbench.clients.secret_parts import secret_parts
from mcp_workbench.config.document import Json
from mcp_workbench.config.variables import expand

RANDOM = "aZ3kQ9xV7bN2mL5pR8tW1yC6"
GITHUB = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

Shape = tuple[str, dict[str, Json], list[str]]

SHAPES: list[Shape] = [
    (
        "JSON of headers",
        {"env": {"OPENAPI_MCP_HEADERS": '{"Authorization": "Bearer ntn_12345", "V": "1"}'}},
        ["ntn_12345"],
    ),
    ("JSON after --config", {"args": ["--config", '{"token":"abc-def","port":1}']}, ["abc-def"]),
    ("JSON in --config=", {"args": ['--config={"apiKey":"abc-def"}']}, ["abc-def"]),
    ("nested JSON", {"args": ['[{"auth":{"password":"pa55"}}]']}, ["pa55"]),
    ("query of an address", {"args": ["https://api.example.com/mcp?api_key=abc-def&v=2"]}, ["abc-def"]),
    ("camel case in a query", {"args": ["https://mcp.tavily.com/mcp/?tavilyApiKey=tvly9"]}, ["tvly9"]),
    ("signature in a query", {"args": ["https://x.blob.example/c?sv=2024&sig=Ab%2Fcd12345"]}, ["Ab%2Fcd12345"]),
    ("fragment", {"args": ["https://x.example/cb#access_token=abc-def"]}, ["abc-def"]),
    ("Slack webhook", {"args": [f"https://hooks.slack.com/services/T00/B00/{RANDOM}"]}, [RANDOM]),
    ("Discord webhook", {"env": {"HOOK": f"https://discord.com/api/webhooks/1234567890/{RANDOM}-x"}}, [RANDOM]),
    ("address with a key in its path", {"url": f"https://mcp.zapier.com/api/mcp/s/{RANDOM}/mcp"}, [RANDOM]),
    (
        "address with a UUID in its path",
        {"url": "https://mcp.example.net/0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0/sse"},
        ["0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"],
    ),
    ("password with an @", {"args": ["postgres://me:p@ss@db.example:5432/x"]}, ["p@ss"]),
    ("password with / and #", {"args": ["postgres://me:p/a#s@db.example/x"]}, ["p/a#s"]),
    ("redis without a user", {"args": ["redis://:sesame@cache:6379/0"]}, ["sesame"]),
    ("token as a user", {"args": [f"https://{GITHUB}@github.com/me/repo.git"]}, [GITHUB]),
    ("several hosts", {"args": ["mongodb://me:sesame@h1:1,h2:2/db?ssl=true"]}, ["sesame"]),
    ("JDBC", {"args": ["jdbc:postgresql://db/x?user=me&password=sesame"]}, ["sesame"]),
    ("ADO connection", {"args": ["Server=db;User ID=me;Password=sesame;Encrypt=true"]}, ["sesame"]),
    ("Azure storage", {"args": ["DefaultEndpointsProtocol=https;AccountName=x;AccountKey=c2VzYW1l=="]}, ["c2VzYW1l=="]),
    ("libpq words", {"args": ["host=db user=me password=sesame dbname=x"]}, ["sesame"]),
    ("StackExchange.Redis", {"args": ["cache:6380,password=sesame,ssl=True"]}, ["sesame"]),
    ("connection in env", {"env": {"DB": "Server=db;Pwd=sesame"}}, ["sesame"]),
    ("-pPASS", {"command": "mysql", "args": ["-u", "root", "-phunter22"]}, ["hunter22"]),
    ("-p PASS", {"command": "mysql", "args": ["-u", "root", "-p", "hunter22"]}, ["hunter22"]),
    ("-k KEY", {"args": ["-k", "abc123def"]}, ["abc123def"]),
    ("-t TOKEN", {"args": ["-t", "Abc-123-def"]}, ["Abc-123-def"]),
    ("-u user:password", {"args": ["-u", "me:sesame"]}, ["sesame"]),
    ("--token TOKEN", {"args": ["--token", "abc"]}, ["abc"]),
    ("--api-key=KEY", {"args": ["--api-key=abc"]}, ["abc"]),
    ("-e NAME=KEY", {"command": "docker", "args": ["run", "-e", "API_KEY=abc", "img"]}, ["abc"]),
    ("--env=NAME=KEY", {"command": "docker", "args": ["run", "--env=API_KEY=abc", "img"]}, ["abc"]),
    ("header argument", {"args": ["--header", "X-API-Key: abc"]}, ["abc"]),
    ("--header=", {"args": ["--header=Authorization: Bearer abcdef"]}, ["abcdef"]),
    ("a cookie", {"args": ["-H", "Cookie: session=abc"]}, ["session=abc"]),
    (
        "a script for a shell",
        {"command": "sh", "args": ["-c", "API_KEY=abc npx x --token def --port 80"]},
        ["abc", "def"],
    ),
    ("a positional token", {"args": [GITHUB]}, [GITHUB]),
    ("a positional JWT", {"args": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"]}, ["c2ln"]),
    ("a bot's token", {"args": ["123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-ab"]}, ["AAEhBOweik6ad9r"]),
    ("a private key", {"env": {"PEM": "-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----\n"}}, ["MIIabc"]),
    ("any name with a bearer", {"env": {"EXTRA": "Bearer abcdef"}}, ["abcdef"]),
    ("password of digits", {"env": {"DB_PASSWORD": "1234"}}, ["1234"]),
    ("camel case", {"env": {"openaiApiKey": "abc"}}, ["abc"]),
    ("beside a variable", {"args": ["https://${HOST}/x?api_key=abc-def"]}, ["abc-def"]),
    ("header", {"url": "https://x.example", "headers": {"X-Custom": "abc"}}, ["abc"]),
    ("bearer header", {"url": "https://x.example", "headers": {"Authorization": "Bearer abc"}}, ["abc"]),
    ("secret of a login", {"url": "https://x.example", "oauth": {"clientId": "i", "clientSecret": "abc"}}, ["abc"]),
    ("command itself", {"command": "npx x --api-key abc-def"}, ["abc-def"]),
]


def taken(entry: dict[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
    hidden: dict[str, str] = {}

    def hide(preferred: str, secret: str, _place: str) -> str:
        name = preferred if preferred not in hidden else f"{preferred}_{len(hidden)}"
        hidden[name] = secret
        return f"${{{name}}}"

    whole: dict[str, Json] = entry if "url" in entry else {"command": "server", **entry}
    found = FoundServer(CLIENTS["claude-desktop"], Path("f"), "box", whole)
    return make_entry(found, "linux", hide).content, hidden


@pytest.mark.parametrize(("entry", "secrets"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES])
def test_a_secret_of_this_shape_is_hidden_and_comes_back(entry: dict[str, Json], secrets: list[str]) -> None:
    content, hidden = taken(entry)
    assert hidden
    assert not [secret for secret in secrets if secret in json.dumps(content)]
    back = expand(content, {"HOST": "h", **hidden}).value
    assert isinstance(back, dict)
    expected = expand(entry, {"HOST": "h"}).value
    assert isinstance(expected, dict)
    assert {key: back[key] for key in expected} == expected


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2025.1.14", "/home/me/work"]},
        {"command": "npx", "args": ["-y", "-p", "some-mcp-server2024", "start"]},
        {"command": "uvx", "args": ["--from", "git+https://github.com/me/repo@0123456789abcdef", "tool"]},
        {"command": "docker", "args": ["run", "-i", "--rm", "-p", "8080:80", "-e", "LOG_LEVEL=debug", "ghcr.io/x/y:1"]},
        {"command": "x", "args": ["--max-tokens", "4096", "--model", "claude-3-5-sonnet-20241022", "-t", "text"]},
        {"command": "x", "args": ["--url", "https://example.org:8443/@scope/page?version=2&name=me#top"]},
        {"command": "x", "args": ["--project", "my-project-123", "--key-file", "/home/me/key.pem", "-port", "80"]},
        {"command": "x", "args": ["--config", '{"port": 80, "debug": true}', "--user", "me"]},
        {"command": "x", "env": {"NODE_OPTIONS": "--max-old-space-size=4096", "TZ": "Europe/Berlin", "PATH": "/a:/b"}},
        {"command": "x", "env": {"API_URL": "https://api.example.com/v1", "TOKEN_LIMIT": "100", "AUTH_TYPE": "oauth"}},
        {"url": "https://api.githubcopilot.com/mcp/x/repos/readonly", "headers": {"X-MCP-Readonly": "true"}},
        {"url": "https://mcp.linear.app/sse"},
    ],
)
def test_what_is_no_secret_stays_readable(entry: dict[str, Json]) -> None:
    content, hidden = taken(entry)
    assert hidden == {}
    assert content == entry


def test_a_very_long_argument_is_hidden_whole_and_at_once() -> None:
    assert [(part.start, part.end) for part in secret_parts("a-" * 500_000)] == [(0, 1_000_000)]
