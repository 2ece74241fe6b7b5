"""One side of a JSON-RPC conversation: it numbers requests, matches responses to them, and sorts out everything else.

It handles messages, not bytes, and knows nothing of MCP or of how messages travel. The SDK's dispatcher ties a request
to the task that awaits it. Here a request is an object that any task may wait for: a tool call that asks its user
something outlives the client's request that began it. Only the waiting is asynchronous, so what arrived first is
handled first.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import anyio

from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.envelope import RequestId
from mcp_workbench.jsonrpc.errors import INVALID_REQUEST, BadAnswer, PeerGone, RemoteError

logger = logging.getLogger(__name__)

_LONGEST_ID = 20
"""Digits of an id that can be one of ours."""


class PeerHandler(Protocol):
    """Takes the messages that the other side sends of its own accord."""

    def on_request(self, request_id: RequestId, method: str, params: JSONObject) -> None:
        """A request, to be answered with `Peer.answer` or `Peer.refuse`, now or later."""
        ...

    def on_notification(self, method: str, params: JSONObject) -> None:
        """A notification."""
        ...

    def on_unknown_response(self, message: JSONObject) -> None:
        """A response to a request that was never sent. It has been dropped."""
        ...


class Request:
    """One request to the other side, from its sending to its outcome."""

    def __init__(
        self,
        peer: "Peer",
        request_id: int,
        *,
        cancellable: bool = True,
        on_settled: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = request_id
        self.cancellable = cancellable
        """Whether giving up on it is announced; MCP forbids that for the first message of a connection."""
        self._peer = peer
        self._on_settled = on_settled
        self._outcome: JSONObject | Exception | None = None
        self._settled = anyio.Event()

    @property
    def settled(self) -> bool:
        """Whether there is an outcome."""
        return self._outcome is not None

    async def wait(self) -> None:
        """Wait until there is an outcome."""
        await self._settled.wait()

    async def result(self) -> JSONObject:
        """Wait for the result; whoever stops waiting cancels the request.

        Raises:
            RemoteError: The other side answered with an error.
            BadAnswer: Its response cannot be used.
            PeerGone: It is gone.
        """
        try:
            await self._settled.wait()
        finally:
            self.cancel("no longer wanted")
        return self.outcome()

    def outcome(self) -> JSONObject:
        """The result of a settled request; raises like `result`."""
        if isinstance(self._outcome, Exception):
            # All requests of a connection that ended share one exception, which must not collect their tracebacks.
            raise self._outcome.with_traceback(None)
        assert self._outcome is not None
        return self._outcome

    def settle(self, outcome: JSONObject | Exception) -> None:
        """Record the outcome; the first one counts."""
        if self._outcome is None:
            self._outcome = outcome
            self._settled.set()
            self._on_settled()

    def cancel(self, reason: str) -> None:
        """Tell the other side that nobody waits any more; does nothing once settled."""
        if not self.settled:
            self.settle(PeerGone(reason))
            self._peer.abandon(self, reason)


class Peer:
    """The messages of one connection: what was asked, and what still waits for its response."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None], handler: PeerHandler) -> None:
        self._send = send
        self._handler = handler
        self._requests: dict[int, Request] = {}
        self._last_id = 0
        self._closed: PeerGone | None = None

    def start(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        cancellable: bool = True,
        on_settled: Callable[[], None] = lambda: None,
    ) -> Request:
        """Send a request now; its outcome is waited for through the object returned."""
        self._last_id += 1
        request = Request(self, self._last_id, cancellable=cancellable, on_settled=on_settled)
        if self._closed is not None:
            request.settle(self._closed)
            return request
        self._requests[request.id] = request
        self._write(_message(method, params, id=request.id))
        return request

    async def request(self, method: str, params: Mapping[str, Any] | None) -> JSONObject:
        """Send a request and wait for its result; raises like `Request.result`."""
        return await self.start(method, params).result()

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        self._write(_message(method, params))

    def answer(self, request_id: RequestId, result: Mapping[str, Any]) -> None:
        """Answer a request of the other side."""
        self._write({"jsonrpc": "2.0", "id": request_id, "result": result})

    def refuse(self, request_id: RequestId | float | None, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the other side with an error."""
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self._write({"jsonrpc": "2.0", "id": request_id, "error": error})

    def abandon(self, request: Request, reason: str) -> None:
        """Forget a request and tell the other side to stop working on it."""
        if self._requests.pop(request.id, None) is not None and request.cancellable:
            self.notify("notifications/cancelled", {"requestId": request.id, "reason": reason})

    def fail(self, request_id: RequestId, error: Exception) -> None:
        """End a request that will get no response that can be used; does nothing if it is not open."""
        if (request := self._requests.pop(_as_own_id(request_id), None)) is not None:
            request.settle(error)

    def close(self, gone: PeerGone) -> None:
        """End every request that is open, and every later one."""
        self._closed = gone
        requests, self._requests = self._requests, {}
        for request in requests.values():
            request.settle(gone)

    def receive(self, message: JSONObject) -> None:
        """Handle one message of the other side."""
        if "method" in message:
            self._receive_request(message)
        else:
            self._receive_response(message)

    def _receive_request(self, message: JSONObject) -> None:
        method, params, request_id = message["method"], message.get("params", {}), message.get("id")
        if not isinstance(method, str) or not isinstance(params, dict):
            if "id" in message:
                self._refuse_invalid(request_id, "method must be a string and params an object")
        elif request_id is None:
            self._handler.on_notification(method, cast(JSONObject, params))
        elif isinstance(request_id, int | str) and not isinstance(request_id, bool):
            self._handler.on_request(request_id, method, cast(JSONObject, params))
        else:
            self._refuse_invalid(request_id, "id must be a string or an integer")

    def _refuse_invalid(self, request_id: object, message: str) -> None:
        """Refuse a request under its own id if a response can carry it, else under none."""
        echoed = request_id if isinstance(request_id, int | str | float) else None
        self.refuse(echoed, INVALID_REQUEST, message)

    def _receive_response(self, message: JSONObject) -> None:
        request_id = _as_own_id(message.get("id"))
        if (request := self._requests.pop(request_id, None)) is not None:
            request.settle(_outcome(message))
        elif 0 < request_id <= self._last_id:
            logger.debug("dropped a late or repeated response with id %s", request_id)
        else:
            self._handler.on_unknown_response(message)

    def _write(self, message: Mapping[str, Any]) -> None:
        if self._closed is None:
            self._send(message)


def _message(method: str, params: Mapping[str, Any] | None, **ids: int) -> JSONObject:
    message: JSONObject = {"jsonrpc": "2.0", **ids, "method": method}
    if params is not None:
        message["params"] = params
    return message


def _as_own_id(value: object) -> int:
    """The id as a number of ours, or -1; some servers return a number as text, others with a fraction of zero."""
    if isinstance(value, str) and value.isdecimal() and len(value) < _LONGEST_ID:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _outcome(response: JSONObject) -> JSONObject | RemoteError | BadAnswer:
    error, result = response.get("error"), response.get("result")
    if error is not None:
        return _remote_error(error)
    if isinstance(result, dict):
        return cast(JSONObject, result)
    if "result" not in response:
        return BadAnswer("it answered with neither a result nor an error")
    return BadAnswer("it answered with a result that is not an object")


def _remote_error(error: object) -> RemoteError:
    given = cast(JSONObject, error) if isinstance(error, dict) else JSONObject()
    message = given.get("message")
    if not isinstance(message, str):
        return RemoteError(INVALID_REQUEST, "it answered with an error that has no message")
    return RemoteError(given.get("code", INVALID_REQUEST), message, given.get("data"))
