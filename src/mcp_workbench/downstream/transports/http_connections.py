"""The connections to one remote server: made when there is no idle one, kept a while, closed when they are not used.

They are httpcore2's, which comes with the SDK by way of httpx2. `httpx2.AsyncClient` above it was tried: it takes
nearly twice the time for a request (cookies, authentication flows, decoders that are not wanted here), and its pool
looks through all connections at every step, which with fifty requests under way costs a third of the throughput. So a
connection is taken from a list of idle ones, and only the factory is used of the pool.
"""

import socket
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import cast

import anyio
import httpcore2

from mcp_workbench.downstream.transports.http_errors import HttpFailed, describe_failure
from mcp_workbench.downstream.transports.proxies import proxy_credentials, proxy_for
from mcp_workbench.downstream.transports.tls import tls_context
from mcp_workbench.downstream.transports.transport import TransportFailed
from mcp_workbench.downstream.transports.web_address import DEFAULT_PORTS, Address

_CONNECT = 15.0
"""Seconds for a connection to be made, TLS included."""

_WRITE = 60.0
"""Seconds for a server to take the next piece of what it is sent."""

_KEEP_IDLE = 4.0
"""Seconds that an unused connection is kept. Many servers close theirs after five, and a request that is sent at that
very moment is lost, since nobody can tell whether it was taken."""

_BEGINNING = 5.0
"""Seconds for the body of a response whose status says enough."""

_MAX_IDLE = 20

_FAILURES = (
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)


class Response:
    """A response whose body is still to be read."""

    def __init__(self, status: int, headers: Mapping[str, str], body: AsyncIterator[bytes]) -> None:
        self.status = status
        self.headers = headers
        """By lower-case name."""
        self.body = body
        """The body in pieces; raises `HttpFailed` when the connection breaks."""

    @property
    def kind(self) -> str:
        """The content type alone."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self, limit: int) -> bytes | None:
        """The whole body; None when it is longer than the limit."""
        pieces: list[bytes] = []
        size = 0
        async for piece in self.body:
            size += len(piece)
            if size > limit:
                return None
            pieces.append(piece)
        return b"".join(pieces)

    async def read_beginning(self, limit: int) -> bytes:
        """The first bytes of the body, whatever follows, however it ends and however slowly it comes."""
        pieces = bytearray()
        with anyio.move_on_after(_BEGINNING), suppress(HttpFailed):
            async for piece in self.body:
                pieces += piece
                if len(pieces) >= limit:
                    break
        return bytes(pieces[:limit])


class Connections:
    """Sends requests, each on a connection of its own."""

    def __init__(self, address: Address) -> None:
        proxy = proxy_for(address.scheme, address.host)
        self._proxy_name = f"{proxy.hostname}:{proxy.port}" if proxy and proxy.port else proxy and proxy.hostname
        self._proxy = None
        if proxy is not None:
            port = proxy.port or DEFAULT_PORTS[proxy.scheme]
            self._proxy = httpcore2.Proxy(
                httpcore2.URL(scheme=proxy.scheme, host=proxy.hostname or "", port=port, target="/"),
                auth=proxy_credentials(proxy),
                ssl_context=_tls_context() if proxy.scheme == "https" else None,
            )
        self._factories: dict[str, httpcore2.AsyncConnectionPool] = {}
        self._idle: list[httpcore2.AsyncConnectionInterface] = []

    async def close(self) -> None:
        """Close what is left; requests must have ended."""
        while self._idle:
            await self._idle.pop().aclose()

    @asynccontextmanager
    async def exchange(
        self, method: str, address: Address, headers: Mapping[str, str], content: bytes
    ) -> AsyncGenerator[Response]:
        """Send a request, and have its response until the block ends.

        Raises:
            HttpFailed: There is no response.
        """
        connection = await self._connection(address)
        request = _request(method, address, headers, content)
        try:
            try:
                raw = await connection.handle_async_request(request)
            except _FAILURES as error:
                raise describe_failure(error, address.name, self._proxy_name) from None
            body = self._body(raw, address)
            async with aclosing(body):
                yield Response(raw.status, _by_name(raw.headers), body)
        finally:
            with anyio.CancelScope(shield=True):
                await self._give_back(connection)

    async def _body(self, raw: httpcore2.Response, address: Address) -> AsyncGenerator[bytes]:
        try:
            stream = cast("AsyncGenerator[bytes]", aiter(cast("AsyncIterator[bytes]", raw.stream)))
            async with aclosing(stream):
                async for piece in stream:
                    yield piece
        except _FAILURES as error:
            raise describe_failure(error, address.name, self._proxy_name) from None
        finally:
            with anyio.CancelScope(shield=True):
                await raw.aclose()

    async def _connection(self, address: Address) -> httpcore2.AsyncConnectionInterface:
        origin = httpcore2.Origin(address.scheme.encode(), address.host.encode(), address.port)
        while self._idle:
            connection = self._idle.pop()
            if connection.can_handle_request(origin) and not connection.has_expired():
                return connection
            await connection.aclose()
        return self._factory(address.scheme).create_connection(origin)

    async def _give_back(self, connection: httpcore2.AsyncConnectionInterface) -> None:
        if connection.is_idle() and len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            await connection.aclose()

    def _factory(self, scheme: str) -> httpcore2.AsyncConnectionPool:
        if scheme not in self._factories:
            self._factories[scheme] = httpcore2.AsyncConnectionPool(
                ssl_context=_tls_context() if scheme == "https" else None,
                proxy=self._proxy,
                keepalive_expiry=_KEEP_IDLE,
                socket_options=_noticing_dead_peers(),
            )
        return self._factories[scheme]


def _tls_context() -> ssl.SSLContext:
    try:
        return tls_context()
    except OSError as error:
        raise TransportFailed(
            f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR name cannot be read: {error.strerror}"
        ) from None


def _request(method: str, address: Address, headers: Mapping[str, str], content: bytes) -> httpcore2.Request:
    fields = [(b"host", address.name.encode()), (b"accept-encoding", b"identity"), (b"user-agent", b"mcp-workbench")]
    fields += [(name.encode(), value.encode()) for name, value in headers.items()]
    if method == "POST":
        fields.append((b"content-length", b"%d" % len(content)))
    return httpcore2.Request(
        method,
        httpcore2.URL(
            scheme=address.scheme.encode(),
            host=address.host.encode(),
            port=address.port,
            target=address.target.encode(),
        ),
        headers=fields,
        content=content,
        extensions={"timeout": {"connect": _CONNECT, "write": _WRITE}},
    )


def _by_name(fields: list[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in fields}


def _noticing_dead_peers() -> list[tuple[int, int, int]]:
    """Socket options with which a peer that vanished without a word is noticed within a minute or so."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    if sys.platform == "linux":
        options += [
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
            (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
        ]
    return options
