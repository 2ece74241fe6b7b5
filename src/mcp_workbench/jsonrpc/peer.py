"""JSON-RPC with one downstream process, as it came: results, errors and notifications are neither parsed nor reshaped.

The SDK's dispatcher ties a request to the task that awaits it. Here a request is an object, a `Call`, that any task may
wait for: a tool call that asks its user something outlives the request of the client that began it. Everything in this
module is synchronous but the waiting, so what the server sent first is handled first.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import anyio
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND

from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject

logger = logging.getLogger(__name__)

_LONGEST_ID = 20


class RemoteError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: Any, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        """An integer, or whatever the server took for a code."""
        self.message = message
        self.data = data


class PeerGone(Exception):
    """The connection ended before the answer; `str()` says why."""


class BadAnswer(Exception):
    """The server answered with something that is no answer; `str()` says what."""


class PeerHandler(Protocol):
    """What the peer does with messages that are no answers."""

    def on_request(self, request_id: int | str, method: str, params: JSONObject) -> None:
        """The server asks something; `Peer.answer` or `Peer.refuse` must follow, now or later."""
        ...

    def on_notification(self, method: str, params: JSONObject) -> None:
        """The server tells something."""
        ...

    def on_noise(self, line: bytes) -> None:
        """The server wrote a line that is no message."""
        ...


class Call:
    """One request to the server, from its sending to its answer."""

    def __init__(self, peer: "Peer", call_id: int, *, cancellable: bool = True, standing: bool = False) -> None:
        self.id = call_id
        self.cancellable = cancellable
        """Greetings are not: the protocol forbids it, and giving up on one is silent."""
        self.standing = standing
        """A subscription's answer is not waited for: it comes when the subscription ends."""
        self._peer = peer
        self._outcome: JSONObject | Exception | None = None
        self._changed = anyio.Event()

    @property
    def settled(self) -> bool:
        """Whether there is an outcome."""
        return self._outcome is not None

    async def changed(self) -> None:
        """Wait for the outcome, or for a `wake`."""
        await self._changed.wait()
        if not self.settled:
            self._changed = anyio.Event()

    def wake(self) -> None:
        """Let whoever waits look again."""
        self._changed.set()

    async def result(self) -> JSONObject:
        """Wait for the answer; leaving early tells the server so.

        Raises:
            RemoteError: The server answered with an error.
            BadAnswer: It answered with something that is no answer.
            PeerGone: It is gone.
        """
        try:
            while not self.settled:
                await self.changed()
        finally:
            self.cancel("no longer wanted")
        return self.outcome()

    def outcome(self) -> JSONObject:
        """The answer that is there; raises like `result`."""
        if isinstance(self._outcome, Exception):
            # A death is one exception for all calls: with the tracebacks of all of them, it would keep them in memory.
            raise self._outcome.with_traceback(None)
        assert self._outcome is not None
        return self._outcome

    def settle(self, outcome: JSONObject | Exception) -> None:
        """Record the outcome; the first one counts."""
        if self._outcome is None:
            self._outcome = outcome
            self.wake()

    def cancel(self, reason: str) -> None:
        """Tell the server that nobody waits any more; does nothing once settled."""
        if not self.settled:
            self.settle(PeerGone(reason))
            self._peer.abandon(self, reason)


class Peer:
    """The messages of one connection: who asked what, and who is still owed an answer."""

    def __init__(self, send: Callable[[bytes], None], handler: PeerHandler) -> None:
        self._send = send
        self._handler = handler
        self._calls: dict[int, Call] = {}
        self._last_id = 0
        self._misdirected = 0
        """Answers under ids that were never asked: as many of the open calls will never be answered."""
        self._newest_answered = 0
        self._newest_when_notified = -1
        self._closed: PeerGone | None = None

    def start(
        self, method: str, params: Mapping[str, Any] | None, *, cancellable: bool = True, standing: bool = False
    ) -> Call:
        """Send a request now; its answer is waited for through the call."""
        self._last_id += 1
        call = Call(self, self._last_id, cancellable=cancellable, standing=standing)
        if self._closed is not None:
            call.settle(self._closed)
            return call
        self._write(_message(method, params, id=call.id))
        self._calls[call.id] = call
        return call

    async def request(self, method: str, params: Mapping[str, Any] | None) -> JSONObject:
        """Send a request and wait for its result; raises like `Call.result`."""
        return await self.start(method, params).result()

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        self._newest_when_notified = self._last_id
        self._write(_message(method, params))

    def answer(self, request_id: int | str, result: Mapping[str, Any]) -> None:
        """Answer a request of the server's."""
        self._write({"jsonrpc": "2.0", "id": request_id, "result": result})

    def refuse(self, request_id: int | str, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the server's with an error."""
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self._write({"jsonrpc": "2.0", "id": request_id, "error": error})

    def abandon(self, call: Call, reason: str) -> None:
        """Forget a call and tell the server to stop working on it."""
        if self._calls.pop(call.id, None) is None:
            return
        # Its answer may be one that went astray. If not, a call waits longer; otherwise an innocent one would fail.
        self._misdirected = max(0, self._misdirected - 1)
        if call.cancellable:
            self.notify("notifications/cancelled", {"requestId": call.id, "reason": reason})

    def close(self, gone: PeerGone) -> None:
        """End every call that is under way, and every later one."""
        self._closed = gone
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.settle(gone)

    def receive(self, line: bytes) -> None:
        """Handle one line from the server."""
        try:
            message = codec.decode(line)
        except codec.NotJSON:
            self._handler.on_noise(line)
            return
        if "method" in message:
            self._receive_request(message)
        elif "result" in message or "error" in message:
            self._receive_answer(message)
        else:
            self._handler.on_noise(line)

    def _receive_request(self, message: JSONObject) -> None:
        method, params = message["method"], message.get("params", {})
        request_id = _as_id(message.get("id"))
        if not isinstance(method, str) or not isinstance(params, dict):
            if request_id is not None:
                self.refuse(request_id, INVALID_REQUEST, "method must be a string and params an object")
        elif request_id is None:
            self._handler.on_notification(method, cast(JSONObject, params))
        else:
            self._handler.on_request(request_id, method, cast(JSONObject, params))

    def _receive_answer(self, message: JSONObject) -> None:
        call = self._calls.pop(_as_call_id(message.get("id")), None)
        if call is None:
            self._receive_stray_answer(message)
        else:
            self._newest_answered = max(self._newest_answered, call.id)
            call.settle(_outcome(message))
        if self._misdirected:
            self._settle_unanswerable()

    def _receive_stray_answer(self, message: JSONObject) -> None:
        """An answer to nothing that is open: late (we gave up), repeated, to a notification, or under a wrong id."""
        stray = _as_call_id(message.get("id"))
        if 0 < stray <= self._last_id:
            logger.debug("dropped a late or repeated answer with id %s", stray)
        elif self._newest_answered <= self._newest_when_notified:
            # No call since the last notification has been answered, so it is this that the server means. Some do, and
            # under whatever id they take its absence for.
            logger.debug("dropped an answer to a notification")
        else:
            logger.warning("dropped an answer with an id that was never asked")
            self._misdirected += 1

    def _settle_unanswerable(self) -> None:
        """When no more calls are open than answers went astray, those answers were theirs and no other will come."""
        awaited = [call for call in self._calls.values() if not call.standing]
        if len(awaited) > self._misdirected:
            return
        self._misdirected = 0
        for call in awaited:
            del self._calls[call.id]
            call.settle(BadAnswer("it answered under an id that was never asked"))

    def _write(self, message: Mapping[str, Any]) -> None:
        if self._closed is None:
            self._send(codec.encode(message))


def method_not_found(method: str) -> tuple[int, str]:
    """Code and message of the refusal of a method nobody serves."""
    return METHOD_NOT_FOUND, f"Method not found: {method}"


def _message(method: str, params: Mapping[str, Any] | None, **ids: int) -> JSONObject:
    message: JSONObject = {"jsonrpc": "2.0", **ids, "method": method}
    if params is not None:
        message["params"] = params
    return message


def _as_id(value: object) -> int | str | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _as_call_id(value: object) -> int:
    """An id of ours, or -1; some servers echo a number as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < _LONGEST_ID:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _outcome(answer: JSONObject) -> JSONObject | RemoteError | BadAnswer:
    if "error" in answer:
        return _remote_error(answer["error"])
    if isinstance(answer["result"], dict):
        return cast(JSONObject, answer["result"])
    return BadAnswer("it answered with a result that is not an object")


def _remote_error(error: object) -> RemoteError:
    given = cast(JSONObject, error) if isinstance(error, dict) else JSONObject()
    message = given.get("message")
    if not isinstance(message, str):
        return RemoteError(INVALID_REQUEST, "it answered with an error that has no message")
    return RemoteError(given.get("code", INVALID_REQUEST), message, given.get("data"))
