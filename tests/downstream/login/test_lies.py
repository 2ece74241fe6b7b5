"""A server, or its authorization server, that lies: the login ends with the reason, and nothing is sent there."""

import gzip
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from authority import visit
from mcp_workbench.downstream.transports.login.problems import LoginFailed
from mcp_workbench.downstream.transports.login.server_login import ServerLogin
from mcp_workbench.downstream.transports.login.target import Target
from servers.web_server import Asked, Reply, WebServer, web_server
from wire import PATIENCE

pytestmark = pytest.mark.anyio

RESOURCE = "/.well-known/oauth-protected-resource/mcp"
ISSUER = "/.well-known/oauth-authorization-server"
Lie = Callable[[str], Any]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def truth(base: str) -> dict[str, Any]:
    """What an honest server answers, by path."""
    return {
        RESOURCE: {"resource": f"{base}/mcp", "authorization_servers": [base]},
        ISSUER: {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
            "code_challenge_methods_supported": ["S256"],
        },
        "/register": {"client_id": "c", "token_endpoint_auth_method": "none"},
        "/token": {"access_token": "a-token", "token_type": "Bearer", "expires_in": 60},
    }


@asynccontextmanager
async def server_with(**lies: Any) -> AsyncGenerator[WebServer]:
    """A server that lies at some paths: with other JSON, or with a handler of its own."""

    async def handler(asked: Asked, reply: Reply) -> None:
        path = asked.target.partition("?")[0]
        base = f"http://{asked.headers['host']}"
        answer = {**truth(base), **{at: lie(base) if not at.startswith("!") else lie for at, lie in lies.items()}}
        if f"!{path}" in lies:
            await lies[f"!{path}"](asked, reply)
        elif path in answer:
            await reply.json(answer[path], 201 if path == "/register" else 200)
        else:
            await reply.send(401 if path == "/mcp" else 404)

    async with web_server(handler) as server:
        yield server


def login_at(server: WebServer, **options: Any) -> ServerLogin:
    return ServerLogin(replace(Target("dev", "guarded", server.url), **options))


def metadata(**changes: Any) -> Lie:
    return lambda base: {**truth(base)[ISSUER], **{name: change.format(base=base) for name, change in changes.items()}}


BEFORE_THE_PERSON: dict[str, tuple[dict[str, Lie], str]] = {
    "another resource": (
        {RESOURCE: lambda base: {"resource": "https://bank.example/mcp", "authorization_servers": [base]}},
        "is for another resource: https://bank.example/mcp",
    ),
    "another issuer": ({ISSUER: metadata(issuer="https://elsewhere.example")}, "is of another issuer"),
    "a script as the login page": (
        {ISSUER: metadata(authorization_endpoint="javascript:alert(1)")},
        "the authorization_endpoint of .* is not an https address: javascript:alert",
    ),
    "a file as the login page": (
        {ISSUER: metadata(authorization_endpoint="file:///etc/passwd")},
        "the authorization_endpoint of .* is not an https address",
    ),
    "tokens over plain http elsewhere": (
        {ISSUER: metadata(token_endpoint="http://elsewhere.example/token")},
        "the token_endpoint of .* is not an https address",
    ),
    "a user in an address": (
        {ISSUER: metadata(token_endpoint="https://me:secret@elsewhere.example/token")},
        "the token_endpoint of .* is not an https address",
    ),
    "no PKCE": (
        {ISSUER: lambda base: {**truth(base)[ISSUER], "code_challenge_methods_supported": ["plain"]}},
        "does not support PKCE with S256",
    ),
    "no client id": (
        {"/register": lambda base: {"client_secret": "s"}},
        "answered the registration without a client id",
    ),
    "an authorization server that is no address": (
        {RESOURCE: lambda base: {"resource": f"{base}/mcp", "authorization_servers": [17, {"a": 1}]}},
        "names no authorization server",
    ),
}


@pytest.mark.parametrize("lie", BEFORE_THE_PERSON)
async def test_a_lie_ends_the_login_before_anybody_is_sent_anywhere(lie: str) -> None:
    lies, reason = BEFORE_THE_PERSON[lie]
    async with server_with(**lies) as server:
        with pytest.raises(LoginFailed, match=reason) as failure:
            await login_at(server).begin_login()
    assert "secret" not in str(failure.value)
    assert "/token" not in [asked.target for asked in server.asked]


async def endless(asked: Asked, reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        await reply.chunk(b" " * 65536)


async def bomb(asked: Asked, reply: Reply) -> None:
    packed = gzip.compress(b" " * 50_000_000)
    await reply.send(200, packed, content_type="application/json", content_encoding="gzip")


async def elsewhere(asked: Asked, reply: Reply) -> None:
    await reply.send(307, location="http://localhost:1/token")


@pytest.mark.parametrize(
    ("answering", "reason"),
    [
        (endless, "sent more than 512 KiB where a few lines were due"),
        (bomb, "sent something compressed, which was not asked for"),
        (elsewhere, "redirects the request for a token to another address, which is not followed"),
    ],
)
async def test_a_token_endpoint_that_misbehaves_ends_the_login(answering: Any, reason: str) -> None:
    async with server_with(**{"!/token": answering}) as server:
        pending = await login_at(server).begin_login()
        state = httpx2.URL(pending.url).params["state"]
        page = await visit(f"{pending.comes_back_to}?code=x&state={state}")
        assert page.status_code == 400
        with pytest.raises(LoginFailed, match=reason), anyio.fail_after(PATIENCE):
            await pending.wait()


@pytest.mark.parametrize("life", [10**400, "1e999", -1, None, [], True, "soon"])
async def test_an_odd_expiry_costs_no_login(life: Any) -> None:
    answer = {"access_token": "a-token", "token_type": "bearer", "expires_in": life}
    registration = {"client_id": "c", "client_secret": "s", "client_secret_expires_at": life}
    lies: dict[str, Lie] = {"/token": lambda base: answer, "/register": lambda base: registration}
    async with server_with(**lies) as server:
        login = login_at(server)
        pending = await login.begin_login()
        state = httpx2.URL(pending.url).params["state"]
        assert (await visit(f"{pending.comes_back_to}?code=x&state={state}")).status_code == 200
        assert await login.headers() == {"Authorization": "Bearer a-token"} or life is True


async def test_the_headers_of_an_entry_do_not_go_over_plain_http_for_a_login(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(asked: Asked, reply: Reply) -> None:
        await reply.send(401)

    async with web_server(handler) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        target = Target("dev", "guarded", "http://mcp.example/mcp", {"X-Key": "very-secret"})
        with pytest.raises(LoginFailed, match="the server's address is not an https address"):
            await ServerLogin(target).begin_login()
    assert proxy.asked == []


async def test_a_login_on_this_machine_needs_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with server_with() as server:
        login = login_at(server)
        assert (await login.begin_login()).url.startswith(f"http://127.0.0.1:{server.port}/authorize?")
        login.close()
    registration = next(asked for asked in server.asked if asked.target == "/register")
    assert json.loads(registration.body)["client_name"] == "MCP Workbench"
