"""The ways in which a request can fail, and the codes that JSON-RPC 2.0 itself defines."""

from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601


class RemoteError(Exception):
    """The other side answered with a JSON-RPC error."""

    def __init__(self, code: Any, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        """An integer, or whatever the other side took for a code."""
        self.message = message
        self.data = data


class PeerGone(Exception):
    """The connection ended before the response; `str()` says why."""


class BadAnswer(Exception):
    """The other side's response cannot be used; `str()` says why."""


class NotDelivered(BadAnswer):
    """There is no response, and there will be none: `str()` says why."""

    def __init__(self, reason: str, *, not_taken: bool = False, cause: Exception | None = None) -> None:
        super().__init__(reason)
        self.cause = cause
        """What would keep any other request from being delivered too."""
        self.not_taken = not_taken
        """The other side certainly did not take the request, so that it may be sent once more."""


def method_not_found(method: str) -> tuple[int, str]:
    """Code and message of the refusal of a method that nobody serves."""
    return METHOD_NOT_FOUND, f"Method not found: {method}"
