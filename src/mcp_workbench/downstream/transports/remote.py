"""A remote server as a transport: streamable HTTP, the older one with a stream of events, or whichever it speaks.

Each message is delivered by a task of its own, so that no request waits for another and no failure reaches one that it
does not concern. A request that fails comes back as a `NoResponse` with the reason. The transport itself ends when the
session is lost, when the server cannot be reached while nothing else is under way, or when a person must log in.

Everything that speaks HTTP is imported by this module and no other, so import it only to connect a remote server.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
import anyio.abc

from mcp_workbench.downstream.transports.authorization import Authorization
from mcp_workbench.downstream.transports.exchange import Exchange, Mailbox, params_of
from mcp_workbench.downstream.transports.http_client import HttpClient, open_client
from mcp_workbench.downstream.transports.http_errors import HttpFailed
from mcp_workbench.downstream.transports.request_headers import modern_version
from mcp_workbench.downstream.transports.sse import LegacySse
from mcp_workbench.downstream.transports.streamable_http import SESSION_LOST, OldServer, StreamableHttp
from mcp_workbench.downstream.transports.transport import Received, TransportFailed
from mcp_workbench.jsonrpc.pipes import MAX_LINE
from mcp_workbench.redaction import Redactor

logger = logging.getLogger(__name__)

_MAX_UNDER_WAY = 256
"""Messages being delivered, or requests not yet answered, before `drain` makes senders wait."""

_INITIALIZED = 10.0
"""Seconds that what follows `notifications/initialized` waits for it: the protocol wants it to arrive first."""

_OTHERS = 2.0
"""Seconds after the loss of a session for other requests to meet it too, so that they can be sent again."""


@dataclass(frozen=True)
class RemoteAddress:
    """Where a remote server is, and how to talk to it."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    kind: Literal["http", "sse"] | None = None
    """Absent: streamable HTTP, and the older transport where the server knows only that."""
    allow_insecure: bool = False
    """Whether credentials may go over plain HTTP to another machine."""
    max_message: int = MAX_LINE
    """Bytes that one message may have."""


class RemoteTransport:
    """Messages to and from one remote server; a `Transport`. `open_remote` makes it and ends it."""

    ends_at_unknown_methods = False

    def __init__(
        self, client: HttpClient, address: RemoteAddress, mailbox: Mailbox, tasks: anyio.abc.TaskGroup
    ) -> None:
        self._client = client
        self._address = address
        self._mailbox = mailbox
        self._tasks = tasks
        self._way = self._make_way(LegacySse if address.kind == "sse" else StreamableHttp)
        self._modern = False
        self._initialized: anyio.Event | None = None
        self._under_way = 0
        self._progressed = anyio.Event()
        self._failure: TransportFailed | None = None

    # The transport's side.

    @property
    def kind(self) -> str:
        """Which of the two it turned out to be."""
        return "sse" if isinstance(self._way, LegacySse) else "http"

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message, never waiting."""
        method = message.get("method")
        if self._mailbox.end_reason is not None or (method == "notifications/cancelled" and self._cancelled(message)):
            return
        exchange = None
        if method is not None and "id" in message:
            self._modern = modern_version(message) is not None
            exchange = Exchange(message["id"], method, self._modern)
            self._mailbox.exchanges[exchange.request_id] = exchange
        elif method == "notifications/initialized":
            self._initialized = anyio.Event()
        self._under_way += 1
        self._tasks.start_soon(self._deliver, message, exchange, self._initialized)

    async def drain(self) -> None:
        """Wait while very many messages are under way."""
        while max(self._under_way, len(self._mailbox.exchanges)) > _MAX_UNDER_WAY and not self._mailbox.end_reason:
            await self._progressed.wait()

    async def messages(self) -> AsyncIterator[Received]:
        """What the server sends, until it is gone.

        Raises:
            TransportFailed: Nothing more can be sent to it, and not for its own sake: `LoginNeeded`, for one.
        """
        async for received in self._mailbox.messages():
            yield received
        if self._failure is not None:
            raise self._failure

    async def end_reason(self) -> str:
        """Why `messages` ended."""
        return self._mailbox.end_reason or ""

    def stderr_tail(self) -> Sequence[str]:
        """The last remarks about this server."""
        return self._mailbox.notes()

    def note(self, text: str) -> None:
        """Log a remark, and keep it for error messages."""
        self._mailbox.note(text)

    async def close(self) -> None:
        """End the session; call when no task delivers any more."""
        self._mailbox.close()
        await self._way.close()

    # Delivering.

    def _make_way(self, kind: type[StreamableHttp] | type[LegacySse]) -> StreamableHttp | LegacySse:
        return kind(self._client, self._mailbox, self._start, self._address.max_message)

    def _cancelled(self, message: Mapping[str, Any]) -> bool:
        """Stop a request that nobody waits for any more; whether the server need not be told."""
        exchange = self._mailbox.exchanges.pop(params_of(message).get("requestId", -1), None)
        if exchange is None:
            return self._modern
        exchange.settled = True
        if exchange.modern:
            exchange.scope.cancel()  # which closes its response, and that is how a modern server hears of it
            return True
        self._under_way += 1
        self._tasks.start_soon(self._tell_then_close, message, exchange)
        return True

    async def _tell_then_close(self, message: Mapping[str, Any], exchange: Exchange) -> None:
        await self._deliver(message, None, self._initialized)
        exchange.scope.cancel()

    async def _deliver(
        self, message: Mapping[str, Any], exchange: Exchange | None, initialized: anyio.Event | None
    ) -> None:
        is_initialized = message.get("method") == "notifications/initialized"
        try:
            if initialized is not None and not is_initialized:
                with anyio.move_on_after(_INITIALIZED):
                    await initialized.wait()
            with exchange.scope if exchange else anyio.CancelScope():
                await self._deliver_or_fail(message, exchange)
        finally:
            if is_initialized and initialized is not None:
                initialized.set()
            self._under_way -= 1
            self._progress()

    async def _deliver_or_fail(self, message: Mapping[str, Any], exchange: Exchange | None) -> None:
        try:
            if self._way.session_lost and exchange is not None:
                await self._mailbox.fail(exchange, SESSION_LOST, not_taken=True)
            else:
                await self._deliver_either_way(message, exchange)
        except HttpFailed as failure:
            await self._failed(message, exchange, str(failure))
            if failure.unreachable and not self._others_under_way():
                self._mailbox.end(str(failure))
        except TransportFailed as failure:
            await self._failed(message, exchange, str(failure), failure)
            if not self._others_under_way():
                self._failure = failure
                self._mailbox.end(str(failure))
        except Exception:
            logger.exception("an error of the workbench's own while it spoke to a remote server")
            await self._failed(message, exchange, "an error of the workbench's own, which its log describes")
        if self._way.session_lost:
            self._end_with_session()

    async def _deliver_either_way(self, message: Mapping[str, Any], exchange: Exchange | None) -> None:
        try:
            await self._way.deliver(message, exchange)
        except OldServer as refusal:
            if self._address.kind is not None:
                raise HttpFailed(str(refusal)) from None
            await self._fall_back(str(refusal))
            await self._way.deliver(message, exchange)

    async def _fall_back(self, reason: str) -> None:
        """Speak the older transport from now on, if the server does."""
        older = self._make_way(LegacySse)
        assert isinstance(older, LegacySse)
        try:
            await older.connected()
        except HttpFailed as failure:
            raise HttpFailed(f"{reason}; nor does it speak the older transport (SSE): {failure}") from None
        self._way = older

    async def _failed(
        self,
        message: Mapping[str, Any],
        exchange: Exchange | None,
        reason: str,
        cause: TransportFailed | None = None,
    ) -> None:
        if exchange is not None:
            await self._mailbox.fail(exchange, reason, cause=cause)
        else:
            self._mailbox.note(f"({message.get('method', 'an answer')} could not be delivered: {reason})")

    def _others_under_way(self) -> bool:
        return any(exchange.method != "subscriptions/listen" for exchange in self._mailbox.exchanges.values())

    def _end_with_session(self) -> None:
        """End now, or when the other requests have had the time to meet the loss themselves."""
        if not self._others_under_way():
            self._mailbox.end(SESSION_LOST)
        else:
            self._tasks.start_soon(self._end_later)

    async def _end_later(self) -> None:
        with anyio.move_on_after(_OTHERS):
            while self._others_under_way():
                await self._progressed.wait()
        self._mailbox.end(SESSION_LOST)

    def _start(self, listen: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.start_soon(self._run, listen)

    async def _run(self, listen: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run what reads the server's own messages; its failure ends the transport only if nothing is under way."""
        try:
            await listen()
        except (HttpFailed, TransportFailed) as failure:
            self._mailbox.note(f"(no longer heard: {failure})")
            if not self._others_under_way():
                self._mailbox.end(str(failure))
        except Exception:
            logger.exception("an error of the workbench's own while it listened to a remote server")
        if self._way.session_lost:
            self._end_with_session()

    def _progress(self) -> None:
        self._progressed.set()
        self._progressed = anyio.Event()


@asynccontextmanager
async def open_remote(
    address: RemoteAddress,
    *,
    redact: Redactor,
    on_note: Callable[[str], None],
    authorization: Authorization | None = None,
) -> AsyncGenerator[RemoteTransport]:
    """A transport to a remote server; when the block is left its session is ended and no connection remains.

    Nothing is sent before the first message is.

    Raises:
        TransportFailed: Nothing may be sent to this address.
    """
    connected = open_client(
        address.url,
        address.headers,
        authorization=authorization,
        allow_insecure=address.allow_insecure,
        redact=redact,
    )
    async with connected as client:
        mailbox = Mailbox(redact, on_note)
        transport: RemoteTransport | None = None
        try:
            async with anyio.create_task_group() as tasks:
                transport = RemoteTransport(client, address, mailbox, tasks)
                try:
                    yield transport
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                if transport is not None:
                    await transport.close()
