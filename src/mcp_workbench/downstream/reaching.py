"""How a server is reached: the one place that turns an entry of the config into a transport.

What speaks HTTP takes as long to import as the rest of the workbench, so only a remote server's first use imports it.
"""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from mcp_workbench.config.models import RemoteServer, ServerConfig, StdioServer
from mcp_workbench.downstream.connecting import LinkFailed
from mcp_workbench.downstream.transports.environment import missing_variable_hint, server_environment
from mcp_workbench.downstream.transports.process import run_process
from mcp_workbench.downstream.transports.spawn import Program
from mcp_workbench.downstream.transports.transport import Transport
from mcp_workbench.redaction import Redactor

if TYPE_CHECKING:
    from mcp_workbench.downstream.transports.login.server_login import ServerLogin

OnNote = Callable[[str], None]
"""Hears what a server says for people: a line of its stderr, or a remark about it."""


class Route:
    """The way to one server, for as long as its entry stays as it is: every `reached` is a new start or session."""

    def __init__(self, toolbox: str, server: str, entry: ServerConfig, redact: Redactor, on_note: OnNote) -> None:
        self._toolbox = toolbox
        self._server = server
        self._as_written = entry
        self._entry = entry
        self._redact = redact
        self._on_note = on_note
        self._login: ServerLogin | None = None

    async def prepare(self) -> None:
        """Get the values that are known only at a start.

        Raises:
            LinkFailed: There are none; the reason says why.
        """
        if self._as_written.commands:
            from mcp_workbench.downstream.start_values import NoStartValue, with_start_values

            try:
                self._entry = await with_start_values(self._as_written, self._redact.learn)
            except NoStartValue as failure:
                raise LinkFailed(str(failure)) from None

    def reached(self) -> AbstractAsyncContextManager[Transport]:
        """A transport to the server; entering it raises `TransportFailed` where there is no way."""
        return self._started(self._entry) if isinstance(self._entry, StdioServer) else self._connected(self._entry)

    def explained(self, reason: str) -> str:
        """Why there was no way, and what that may have to do with variables that a program does not get."""
        if not isinstance(self._entry, StdioServer):
            return reason
        hint = missing_variable_hint(reason, server_environment(self._entry, os.environ), os.environ)
        return f"{reason}\n{hint}" if hint else reason

    def close(self) -> None:
        """Give up a login that is pending."""
        if self._login is not None:
            self._login.close()

    @asynccontextmanager
    async def _started(self, entry: StdioServer) -> AsyncGenerator[Transport]:
        program = Program(entry.command, entry.args, server_environment(entry, os.environ), entry.cwd)
        async with run_process(program, self._on_note, self._redact) as process:
            yield process

    @asynccontextmanager
    async def _connected(self, entry: RemoteServer) -> AsyncGenerator[Transport]:
        from mcp_workbench.downstream.transports.remote import RemoteAddress, open_remote

        address = RemoteAddress(entry.url, entry.headers, entry.kind, entry.allow_insecure)
        opened = open_remote(
            address, redact=self._redact, on_note=self._on_note, authorization=self._credentials(entry)
        )
        async with opened as remote:
            yield remote

    def _credentials(self, entry: RemoteServer) -> "ServerLogin | None":
        """The login at the server, which outlives every session; None where the entry brings its own credentials."""
        from mcp_workbench.downstream.transports.login.server_login import ServerLogin
        from mcp_workbench.downstream.transports.login.target import target_of

        if self._login is None and (target := target_of(self._toolbox, self._server, entry)) is not None:
            self._login = ServerLogin(target, self._redact.learn)
        return self._login
