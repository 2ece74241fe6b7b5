"""The loopback address that a login comes back to: a web server for one visit.

It answers `/callback` and nothing else. Visits that do not belong to the login change nothing; the one that does ends
it, and the page says how it went. Nothing here waits for anybody: the visit itself carries the login to its end.
"""

import asyncio
import contextlib
import html
import logging
import socket
import sys
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from mcp_workbench.downstream.transports.login.code_request import NotOurs
from mcp_workbench.downstream.transports.login.problems import LoginFailed

_log = logging.getLogger(__name__)

_PATH = "/callback"
_SECONDS = 15.0
_LARGEST = 64 * 1024
_VISITORS = 16

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>MCP Workbench</title>
<style>body {{ font: 1.1em/1.5 system-ui, sans-serif; max-width: 34em; margin: 15vh auto; padding: 0 1em }}</style>
</head><body><h1>{title}</h1><p>{text}</p></body></html>
"""


class PortTaken(LoginFailed):
    """The port that a login has to come back to is used by another program."""


class Callback:
    """Listens on loopback until it is closed."""

    def __init__(self, host: str, port: int) -> None:
        self.redirect_uri = f"http://{host}:{port}{_PATH}"
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.Server] = []
        self._visitors = 0
        self._receive: Callable[[str], Awaitable[None]] | None = None

    @classmethod
    async def listen(cls, host: str, port: int) -> "Callback":
        """Listen at `host`, which is `127.0.0.1` or `localhost`, on a port, or for 0 on any that is free.

        Raises:
            PortTaken: Another program uses it.
        """
        try:
            first = _bound(socket.AF_INET, "127.0.0.1", port)
        except OSError:
            raise PortTaken(f"port {port} on this machine, which the login comes back to, is taken") from None
        callback = cls(host, first.getsockname()[1])
        callback._sockets.append(first)
        if host == "localhost":  # which a browser may take for the one or the other
            with contextlib.suppress(OSError):
                callback._sockets.append(_bound(socket.AF_INET6, "::1", first.getsockname()[1]))
        for bound in callback._sockets:
            callback._servers.append(await asyncio.start_server(callback._visit, sock=bound, limit=_LARGEST))
        return callback

    def deliver_to(self, receive: Callable[[str], Awaitable[None]]) -> None:
        """Give the query of every visit to `receive`, which raises `NotOurs` or `LoginFailed`, or ends the login."""
        self._receive = receive

    def close(self) -> None:
        """Stop listening. A visit that is being answered is answered to its end."""
        for server in self._servers:
            server.close()

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._visitors += 1
        try:
            async with asyncio.timeout(2 * _SECONDS):
                if self._visitors <= _VISITORS:
                    writer.write(await self._answer(reader))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # a visitor who went away, or who never said what for
        except Exception:
            _log.exception("a visit to the address of a login failed")
        finally:
            self._visitors -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
        method, _, rest = head.partition(b" ")
        address = urlsplit(rest.split(b" ", 1)[0].decode("ascii"))
        if method != b"GET" or address.path != _PATH or self._receive is None:
            return _response(404, "There is nothing here", "This address waits for a login and has nothing to show.")
        try:
            await self._receive(address.query)
        except NotOurs:
            return _response(400, "Not the login that was asked for", "Begin the login again where you began it.")
        except LoginFailed as error:
            return _response(400, "The login failed", html.escape(str(error)))
        return _response(200, "You are logged in", "MCP Workbench has what it needs. You can close this page.")


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":  # where reuse would share the port with anybody
            made.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((host, port))
        made.listen(8)  # now, so that two who want the same port find out here
    except OSError:
        made.close()
        raise
    made.setblocking(False)
    return made


def _response(status: int, title: str, text: str) -> bytes:
    body = _PAGE.format(title=title, text=text).encode()
    reason = {200: "OK", 400: "Bad Request", 404: "Not Found"}[status]
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
