"""A web server for tests, on bare sockets: each test scripts what it answers, as badly as it likes.

It runs in the test's own event loop, and keeps every request it got. A handler writes the response byte by byte if it
wants to, and may leave it unfinished, reset the connection, or never answer.
"""

import json
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSListener

Json = dict[str, Any]
END_OF_HEAD = b"\r\n\r\n"
LONGEST_HEAD = 64 * 1024


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> Json:
        return json.loads(self.body) if self.body else {}

    @property
    def rpc(self) -> str:
        """The JSON-RPC method, where there is one."""
        return self.message.get("method", "")


class Reply:
    """The response to one request, as far as it was written."""

    def __init__(self, asked: Asked, stream: anyio.abc.ByteStream) -> None:
        self.asked = asked
        self._stream = stream

    async def raw(self, data: bytes) -> None:
        await self._stream.send(data)

    async def send(self, status: int, body: bytes | str = b"", **headers: str) -> None:
        """A whole response; header names take underscores for hyphens."""
        content = body.encode() if isinstance(body, str) else body
        fields = {"content-length": str(len(content)), **{name.replace("_", "-"): v for name, v in headers.items()}}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        await self.raw(f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + content)

    async def json(self, value: object, status: int = 200, **headers: str) -> None:
        await self.send(status, json.dumps(value), content_type="application/json", **headers)

    async def result(self, result: Json, **headers: str) -> None:
        await self.json({"jsonrpc": "2.0", "id": self.asked.message["id"], "result": result}, 200, **headers)

    async def start_events(self, **headers: str) -> None:
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        await self.raw(
            f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n{lines}\r\n".encode()
        )

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n" % len(data) + data + b"\r\n")

    async def event(self, data: object, *, id: str | None = None, kind: str | None = None) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        name = f"event: {kind}\n" if kind else ""
        number = f"id: {id}\n" if id else ""
        await self.chunk(f"{name}{number}data: {text}\n\n".encode())

    async def event_result(self, result: Json, *, id: str | None = None) -> None:
        await self.event({"jsonrpc": "2.0", "id": self.asked.message["id"], "result": result}, id=id)

    async def end(self) -> None:
        """The end of a chunked body."""
        await self.raw(b"0\r\n\r\n")

    async def reset(self) -> None:
        """Cut the connection as a crash does."""
        raw = self._stream.extra(anyio.abc.SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await anyio.aclose_forcefully(self._stream)

    async def hang_up(self) -> None:
        await self._stream.aclose()

    async def gone(self) -> None:
        """Wait until the client has closed the connection."""
        try:
            while True:
                await self._stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return


Handler = Callable[[Asked, Reply], Awaitable[None]]


def mcp(call: Handler, *, session: str | None = "the-session", listen: Handler | None = None) -> Handler:
    """A well-behaved MCP server of both eras, but for its calls and the stream of its own messages."""

    async def handler(asked: Asked, reply: Reply) -> None:
        if asked.method == "GET":
            await (listen(asked, reply) if listen else reply.send(405))
        elif asked.method == "DELETE" or "id" not in asked.message:
            await reply.send(202)
        elif asked.rpc == "initialize":
            version = asked.message["params"]["protocolVersion"]
            headers = {"mcp_session_id": session} if session else {}
            await reply.result({"protocolVersion": version, "capabilities": {"tools": {}}}, **headers)
        elif asked.rpc == "server/discover":
            await reply.result({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        else:
            await call(asked, reply)

    return handler


@dataclass
class WebServer:
    """A running server, and what it was asked."""

    host: str
    port: int
    scheme: str
    asked: list[Asked] = field(default_factory=list[Asked])
    connections: int = 0
    open_connections: int = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}/mcp"

    def of(self, rpc: str) -> list[Asked]:
        """The requests with this JSON-RPC method."""
        return [asked for asked in self.asked if asked.rpc == rpc]


@asynccontextmanager
async def web_server(
    handler: Handler, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncGenerator[WebServer]:
    """Serve until the block ends."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port: int = listener.extra(anyio.abc.SocketAttribute.local_port)
    server = WebServer(host, port, "https" if tls else "http")
    serving = TLSListener(listener, tls, standard_compatible=False) if tls else listener
    async with listener, anyio.create_task_group() as tasks:

        async def handle(stream: anyio.abc.ByteStream) -> None:
            server.connections += 1
            server.open_connections += 1
            try:
                await _serve_connection(stream, handler, server)
            finally:
                server.open_connections -= 1

        tasks.start_soon(serving.serve, handle)
        yield server
        tasks.cancel_scope.cancel()


async def _serve_connection(stream: anyio.abc.ByteStream, handler: Handler, server: WebServer) -> None:
    incoming = BufferedByteReceiveStream(stream)
    async with stream:
        try:
            while True:
                asked = await _read_request(incoming)
                server.asked.append(asked)
                await handler(asked, Reply(asked, stream))
        except (
            anyio.IncompleteRead,
            anyio.EndOfStream,
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
            anyio.DelimiterNotFound,
        ):
            return


async def _read_request(incoming: BufferedByteReceiveStream) -> Asked:
    head = (await incoming.receive_until(END_OF_HEAD, LONGEST_HEAD)).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    size = int(headers.get("content-length", "0"))
    return Asked(method, target, headers, await incoming.receive_exactly(size) if size else b"")
