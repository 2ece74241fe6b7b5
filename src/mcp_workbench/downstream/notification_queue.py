"""What a server told during its calls, until the client has taken it: bounded by its size, whatever the server sends.

A client that is busy answering a question, or does not read, takes nothing. All calls of a server share one allowance,
so that a server that floods loses its own notifications and nobody else's.
"""

from collections import deque
from dataclasses import dataclass

from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject

MAX_KEPT = 4 * 1024 * 1024
"""Bytes of notifications kept for the calls of one server; beyond it the oldest of a call are dropped."""


@dataclass
class Allowance:
    """What the calls of one server may still keep."""

    left: int = MAX_KEPT


@dataclass(frozen=True)
class _Kept:
    method: str
    params: JSONObject
    size: int


class NotificationQueue:
    """The notifications of one call, oldest first."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._kept: deque[_Kept] = deque()

    def __bool__(self) -> bool:
        return bool(self._kept)

    def put(self, method: str, params: JSONObject) -> None:
        """Keep a notification; to make room for it older ones of this call go, and if that is not enough, itself."""
        self._append(_Kept(method, params, len(codec.compact(params))))
        while self._kept and self._allowance.left < 0:
            self.take()

    def take(self) -> tuple[str, JSONObject]:
        """The oldest notification: its method and params."""
        oldest = self._kept.popleft()
        self._allowance.left += oldest.size
        return oldest.method, oldest.params

    def clear(self) -> None:
        """Drop them all: nobody will take them."""
        while self._kept:
            self.take()

    def _append(self, kept: _Kept) -> None:
        self._kept.append(kept)
        self._allowance.left -= kept.size
