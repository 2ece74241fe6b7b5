"""A remote server with a login, for tests: the SDK's own authorization server in front of an SDK server.

It runs in the test's event loop. Whoever visits its login page is let in at once. Refresh tokens are good for one use;
a second use ends the whole login, as careful authorization servers have it.
"""

import json
import secrets
import socket
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any
from urllib.parse import parse_qsl

import anyio
import httpx2
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wire import PATIENCE, eventually


class Provider:
    """Clients, codes and tokens in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.used: set[str] = set()
        self.secrets: set[str] = set()
        """Every token and code that was ever given out, and every client secret."""
        self.life: int | None = 3600
        self.refuses_new_tokens = False
        self.visits = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info
        self.secrets.update(filter(None, [client_info.client_secret]))

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.visits += 1
        code = self._secret("code")
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        if refresh_token in self.used:  # somebody else has a copy
            self.refresh.clear()
            self.access.clear()
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.used.add(refresh_token.token)
        tokens = self._tokens(client.client_id, scopes or refresh_token.scopes, refresh_token.resource)
        if self.refuses_new_tokens:
            self.revoke_access()
        return tokens

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    async def exchange_identity_assertion(self, client: OAuthClientInformationFull, params: Any) -> OAuthToken:
        raise NotImplementedError

    def revoke_access(self) -> None:
        """Make every access token worthless, as a server does that forgot them."""
        self.access.clear()

    def _tokens(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = self._secret("access"), self._secret("refresh")
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=scopes, resource=resource)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes, resource=resource)
        return OAuthToken(access_token=access, expires_in=self.life, scope=" ".join(scopes), refresh_token=refresh)

    def _secret(self, kind: str) -> str:
        made = f"{kind}-{secrets.token_hex(20)}"
        self.secrets.add(made)
        return made


class Authority:
    """The server, what was asked of it, and how it shall misbehave."""

    def __init__(self, url: str, provider: Provider) -> None:
        self.url = url
        self.provider = provider
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        """Method, path and, for a form, its fields."""
        self.answers: dict[str, Callable[[], tuple[int, Any]]] = {}
        """What to answer at a path instead of what the SDK would."""
        self.before: dict[str, Callable[[], Awaitable[None]]] = {}
        """What to wait for before a path is answered."""

    @property
    def resource(self) -> str:
        return f"{self.url}/mcp"

    def count(self, path: str, **fields: str) -> int:
        """How often a path was asked for, with these fields in its form."""
        return sum(at == path and fields.items() <= form.items() for _, at, form in self.requests)

    @property
    def refreshes(self) -> int:
        return self.count("/token", grant_type="refresh_token")

    def paths(self) -> Counter[str]:
        return Counter(path for _, path, _ in self.requests)


class _Watching:
    """Notes every request, and answers some of them itself."""

    def __init__(self, app: ASGIApp, authority: Authority) -> None:
        self._app = app
        self._authority = authority

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        body = await _body(receive) if path in ("/token", "/revoke", "/register") else None
        fields = dict(parse_qsl(body.decode())) if body is not None and path != "/register" else {}
        self._authority.requests.append((scope["method"], path, fields))
        if path in self._authority.before:
            await self._authority.before[path]()
        if path in self._authority.answers:
            await _answer(send, *self._authority.answers[path]())
        else:
            await self._app(scope, receive if body is None else _replay(body), send)


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def _replay(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _answer(send: Send, status: int, body: Any) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def _tools(server: MCPServer[Any]) -> None:
    arrived = Counter[int]()
    everybody: dict[int, anyio.Event] = {}

    @server.tool()
    async def meet(number: int) -> str:
        """Return when that many callers are here."""
        arrived[number] += 1
        event = everybody.setdefault(number, anyio.Event())
        if arrived[number] == number:
            event.set()
        await event.wait()
        return "met"

    @server.tool()
    async def echo(text: str) -> str:
        """Return the text."""
        return text


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def authority(
    *,
    scopes: tuple[str, ...] = (),
    registration: bool = True,
    provider: Provider | None = None,
    port: int | None = None,
) -> AsyncGenerator[Authority]:
    """Run the server on loopback."""
    port = port or free_port()
    made = Authority(f"http://127.0.0.1:{port}", provider or Provider())
    server = MCPServer(
        "guarded",
        auth_server_provider=made.provider,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(made.url),
            resource_server_url=AnyHttpUrl(made.resource),
            validate_token_resource=True,
            required_scopes=list(scopes) or None,
            client_registration_options=ClientRegistrationOptions(
                enabled=registration, valid_scopes=[*scopes, "extra"]
            ),
            revocation_options=RevocationOptions(enabled=True),
        ),
    )
    _tools(server)
    async with served(_Watching(server.streamable_http_app(), made), port):
        yield made


@asynccontextmanager
async def served(app: ASGIApp, port: int) -> AsyncGenerator[None]:
    """Run an application on loopback until the block is left."""
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    running.capture_signals = _no_signals  # pyright: ignore[reportAttributeAccessIssue] - they are the test run's
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(running.serve)
        with anyio.fail_after(PATIENCE):
            await eventually(lambda: running.started)
        try:
            yield
        finally:
            running.should_exit = True


def _no_signals() -> Any:
    return nullcontext()


async def visit(url: str) -> httpx2.Response:
    """Do what a person does with the address of a login page: open it, and be sent back."""
    async with httpx2.AsyncClient(follow_redirects=True, timeout=PATIENCE, trust_env=False) as browser:
        return await browser.get(url)
