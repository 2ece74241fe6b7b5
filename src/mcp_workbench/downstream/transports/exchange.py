"""What the ways to talk to a remote server have in common: requests under way, and what was received for the peer.

`Mailbox` is the receiving side of a `Transport`. It is bounded: a server that sends faster than its messages are taken
is read no further, and waits as it would with a full pipe.
"""

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import anyio

from mcp_workbench.downstream.transports.transport import NoResponse, Received, TransportFailed
from mcp_workbench.jsonrpc.codec import JSONObject, Unreadable
from mcp_workbench.redaction import Redactor

logger = logging.getLogger(__name__)

_UNTAKEN = 64
"""Messages that are kept until the peer takes them."""

_NOTES = 12
_NOTE_LENGTH = 400


@dataclass(eq=False)
class Exchange:
    """A request of ours, from its sending to its response."""

    request_id: int
    method: str
    modern: bool
    """It carries the envelope of protocol 2026-07-28, where closing the response is what cancels a request."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    settled: bool = False
    unreadable: str | None = None
    """What was received for it that is not a message."""


class Mailbox:
    """What was received from a server, who still waits for a response, and how it all ended."""

    def __init__(self, redact: Redactor, on_note: Callable[[str], None]) -> None:
        self.exchanges: dict[int, Exchange] = {}
        self.end_reason: str | None = None
        self.redact = redact
        self._on_note = on_note
        self._notes: deque[str] = deque(maxlen=_NOTES)
        self._put, self._taken = anyio.create_memory_object_stream[Received](_UNTAKEN)

    async def receive(self, message: JSONObject) -> None:
        """Pass a message on; the exchange that it answers is then settled."""
        if "method" not in message and (exchange := self.exchanges.pop(_as_number(message.get("id")), None)):
            exchange.settled = True
        await self._pass_on(message)

    async def fail(
        self, exchange: Exchange, reason: str, *, not_taken: bool = False, cause: TransportFailed | None = None
    ) -> None:
        """Say that a request will not be answered, unless it was."""
        if exchange.settled:
            return
        exchange.settled = True
        self.exchanges.pop(exchange.request_id, None)
        await self._pass_on(NoResponse(exchange.request_id, self.redact(reason), not_taken, cause))

    async def take_unreadable(self, problem: Unreadable) -> None:
        """Note what is not a message, and end the requests that it would have answered."""
        self.note(f"(an event that cannot be read: {problem})")
        for request_id in problem.responses:
            if (exchange := self.exchanges.get(_as_number(request_id))) is not None:
                await self.fail(exchange, f"its response cannot be read: {problem}")

    def end(self, reason: str) -> None:
        """Let `messages` end when all that was received is taken; the first reason counts."""
        if self.end_reason is None:
            self.end_reason = self.redact(reason)
            self._put.close()

    async def messages(self) -> AsyncIterator[Received]:
        """What was received, until the end."""
        async for received in self._taken:
            yield received

    def note(self, text: str) -> None:
        """Log a remark, and keep it for error messages."""
        shown = self.redact.beginning(text, _NOTE_LENGTH)
        self._notes.append(shown)
        self._on_note(shown)

    def notes(self) -> list[str]:
        """The last remarks."""
        return list(self._notes)

    def close(self) -> None:
        """Give everything back; nothing is received any more."""
        self.end("stopped by the workbench")
        self._taken.close()

    async def _pass_on(self, received: Received) -> None:
        try:
            await self._put.send(received)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("dropped a message that came after the end")


def answers(message: JSONObject, exchange: Exchange) -> bool:
    """Whether a message is the response to this request, as an error without an id is too: to what else could it be?"""
    if "method" in message:
        return False
    return _as_number(message.get("id")) == exchange.request_id or (message.get("id") is None and "error" in message)


def params_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The params of a message, empty where it has none."""
    params = message.get("params")
    return cast("Mapping[str, Any]", params) if isinstance(params, Mapping) else {}


def _as_number(value: object) -> int:
    """An id of ours, or -1; some servers repeat a number as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:  # longer than any id of ours
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
