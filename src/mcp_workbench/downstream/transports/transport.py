"""The seam between a server's connection and the way it is reached: messages, not bytes.

A process and an HTTP session are two implementations. Whatever runs above (the peer, the link, the connection) knows
neither: it sends messages, reads messages, and at the end asks what happened.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mcp_workbench.jsonrpc.codec import JSONObject


class TransportFailed(Exception):
    """The server cannot be reached at all; `str()` is the reason a person reads."""


@dataclass(frozen=True)
class NoResponse:
    """A request of ours that will not be answered: it could not be delivered, or its response cannot be read."""

    request_id: int | str
    reason: str
    not_taken: bool = False
    """The server certainly did not take the request, so that it may be sent once more."""
    cause: TransportFailed | None = None
    """What keeps any request from being delivered, where it is not the server: `LoginNeeded`, for one."""


Received = JSONObject | NoResponse


class Transport(Protocol):
    """A way to exchange messages with one server, from its start to its end."""

    @property
    def kind(self) -> str:
        """What people call it: `stdio`, `http` or `sse`."""
        ...

    @property
    def ends_at_unknown_methods(self) -> bool:
        """Whether this may be one of the servers that end when their first message is not `initialize`."""
        ...

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message, never waiting. A request that cannot be delivered comes back as a `NoResponse`."""
        ...

    async def drain(self) -> None:
        """Wait while the server has fallen far behind in taking what was sent."""
        ...

    def messages(self) -> AsyncIterator[Received]:
        """What the server sends, until it is gone. What is not a message is noted, not yielded.

        Raises:
            TransportFailed: It is not gone, but nothing more can be sent to it: a login is needed, for one.
        """
        ...

    async def end_reason(self) -> str:
        """Why `messages` ended, as a person reads it, with what is known of the circumstances."""
        ...

    def stderr_tail(self) -> Sequence[str]:
        """The last lines that the server, or the transport on its behalf, said for people."""
        ...

    def note(self, text: str) -> None:
        """Log a remark about this server, and keep it for error messages."""
        ...


def with_tail(reason: str, tail: Sequence[str]) -> str:
    """A reason with the last lines of a server's stderr."""
    return f"{reason}; the last lines of its stderr:\n" + "\n".join(tail) if tail else reason
