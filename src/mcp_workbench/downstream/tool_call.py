"""One use of a tool, from its first message to its result, however many questions come between.

To the rest of the workbench both eras look alike: `next` gives the result, or a `Pause` with what the server wants to
know, and `resume` goes on with the answers. A legacy server keeps the call open while it asks; a modern one ends each
round with `input_required` and is called again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
from mcp_types import INVALID_REQUEST, LOG_LEVEL_META_KEY

from mcp_workbench.downstream.caller import LOG_LEVELS, Caller
from mcp_workbench.downstream.link import MAX_QUESTIONS, Link
from mcp_workbench.downstream.notification_queue import NotificationQueue
from mcp_workbench.downstream.question import Question
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.peer import Request

_ACTIONS = ("accept", "decline", "cancel")


class CallTimedOut(Exception):
    """The server did not answer within the configured time."""


@dataclass(frozen=True)
class Pause:
    """The server needs answers before it goes on."""

    result: JSONObject
    """The round as an `input_required` result, without a `requestState`."""

    server_state: str | None = None
    """What a modern server wants back with the answers."""

    @property
    def questions(self) -> Mapping[str, JSONObject]:
        """What to ask, by key: a method and its params."""
        return self.result.get("inputRequests") or {}


@dataclass(frozen=True)
class Retry:
    """Another round of a call that a modern server paused."""

    answers: Mapping[str, JSONObject]
    server_state: str | None


class ToolCall:
    """A `tools/call`: `begin` sends it, and `close` must follow when nobody will wait any more."""

    def __init__(
        self,
        link: Link,
        tool: str,
        arguments: Mapping[str, Any],
        caller: Caller,
        *,
        origin: str,
        timeout: float | None,
    ) -> None:
        self.link = link
        self.tool = tool
        self.caller = caller
        self._arguments = arguments
        self._origin = origin
        self._timeout = timeout
        self._token = link.next_token()
        self._questions: dict[str, Question] = {}
        self._untold: list[str] = []
        self._notifications = NotificationQueue(link.allowance)
        self._deadline = 0.0
        self._paused = False
        self._request: Request | None = None
        self._something_happened = anyio.Event()

    def begin(self, retry: Retry | None = None) -> "ToolCall":
        """Send the call, or the next round of one that a modern server paused; the call itself."""
        self._request = self._send(retry)
        self.link.calls[self._token] = self
        return self

    async def next(self) -> JSONObject | Pause:
        """Wait for the result, or for questions that nobody has been told of; pass notifications on meanwhile.

        Raises:
            RemoteError: The server answered with an error.
            BadAnswer: It answered with something that cannot be used.
            PeerGone: It is gone.
            CallTimedOut: It took longer than it may.
        """
        while True:
            await self._pass_notifications_on()
            if self._is_answered:
                return self._settle()
            if self._untold:
                return self._pause()
            await self._changed()

    async def settled(self) -> None:
        """Wait until the server has answered, whatever it still wanted to know; pass notifications on meanwhile."""
        await self._pass_notifications_on()
        while not self._is_answered:
            await self._next_event()
            await self._pass_notifications_on()

    def resume(self, answers: Mapping[str, JSONObject], caller: Caller | None = None) -> None:
        """Go on with the answers; those that are missing will be asked for again."""
        self.caller = caller or self.caller
        self._paused = False
        self._restart_clock()
        for key, answer in answers.items():
            if question := self._questions.pop(key, None):
                _pass_on(question, answer)
        self._untold = [key for key, question in self._questions.items() if not question.closed.is_set()]

    def question(self, key: str) -> Question | None:
        """A legacy server's open question."""
        return self._questions.get(key)

    def close(self, reason: str) -> None:
        """Stop waiting: the server is told, unless it has answered.

        Questions still open may be those of other calls, since no legacy server says whose they are: others ask them.
        """
        for question in self._withdraw(reason):
            self.link.ask(question)

    def give_up(self, reason: str) -> None:
        """Stop waiting, and answer its open questions for a user who never did."""
        for question in self._withdraw(reason):
            question.give_up()

    def _withdraw(self, reason: str) -> list[Question]:
        """Tell the server that nobody waits for the call; the questions that are still open."""
        self.link.calls.pop(self._token, None)
        self._notifications.clear()
        if self._request is not None:
            self._request.cancel(reason)  # before its questions are answered: the server must not go on with the call
        questions, self._questions = self._questions, {}
        return [question for question in questions.values() if not question.closed.is_set()]

    @property
    def _is_answered(self) -> bool:
        return self._request is not None and self._request.settled

    # What the link asks of a call, and tells of the server.

    @property
    def paused(self) -> bool:
        """Whether its client has questions to answer before it looks again, or is about to be told of some."""
        return self._paused or bool(self._untold)

    @property
    def declared(self) -> Mapping[str, Any]:
        """What the client can be asked."""
        return self.caller.declared

    def on_progress(self, params: JSONObject) -> None:
        """Restart the clock, and pass it on under the client's own token."""
        self._restart_clock()
        if self.caller.progress_token is not None:
            self._notify("notifications/progress", {**params, "progressToken": self.caller.progress_token})

    def on_log(self, params: JSONObject) -> bool:
        """Pass a log message on, if this call's client wants it."""
        level, wanted = params.get("level"), self.caller.log_level
        if wanted is None or level not in LOG_LEVELS or LOG_LEVELS.index(level) < LOG_LEVELS.index(wanted):
            return False
        self._notify("notifications/message", with_origin(params, self._origin))
        return True

    def on_question(self, question: Question) -> None:
        """Keep a question for the client."""
        self._forget_withdrawn()
        key = self._key(question)
        self._questions[key] = question
        if key not in self._untold:
            self._untold.append(key)
        self._wake()

    def _key(self, question: Question) -> str:
        """What the client knows a question by: its id as text, unless that is another's, as "1" is beside 1."""
        key = f"{question.request_id}"
        other = self._questions.get(key)
        return key if other is None or other.request_id == question.request_id else f"{key} ({len(self._questions)})"

    def _forget_withdrawn(self) -> None:
        """Forget what the server no longer wants to know, before it is too much."""
        if len(self._questions) >= MAX_QUESTIONS:
            self._questions = {key: one for key, one in self._questions.items() if not one.closed.is_set()}
            self._untold = [key for key in self._untold if key in self._questions]

    def _send(self, retry: Retry | None) -> Request:
        meta = dict(self.caller.meta)
        if self.caller.progress_token is not None or self._timeout is not None:
            meta["progressToken"] = self._token
        if self.link.greeting.modern and self.caller.log_level is not None:
            meta[LOG_LEVEL_META_KEY] = self.caller.log_level
        meta = self.link.greeting.stamp(meta, self.caller.declared)
        params: JSONObject = {"name": self.tool, "arguments": self._arguments}
        if meta:
            params["_meta"] = meta
        if retry is not None:
            params["inputResponses"] = retry.answers
            if retry.server_state is not None:
                params["requestState"] = retry.server_state
        self._restart_clock()
        return self.link.peer.start("tools/call", params, on_settled=self._wake)

    def _settle(self) -> JSONObject | Pause:
        assert self._request is not None
        result = self._request.outcome()
        self.link.answered = True
        if result.get("resultType") != "input_required":
            return result
        if not self.link.greeting.modern:  # its era knows no rounds: whatever it means by that, it is done
            return {**result, "resultType": "complete"}
        state = result.get("requestState")
        return Pause({key: value for key, value in result.items() if key != "requestState"}, state)

    def _pause(self) -> Pause:
        told, self._untold = self._untold, []
        self._paused = True
        questions = {key: self._questions[key] for key in told if not self._questions[key].closed.is_set()}
        asked = {key: {"method": question.method, "params": question.params} for key, question in questions.items()}
        return Pause({"resultType": "input_required", "inputRequests": asked})

    async def _changed(self) -> None:
        if self._timeout is None:
            await self._next_event()
            return
        with anyio.CancelScope(deadline=self._deadline):
            await self._next_event()
        if not self._is_answered and not self._untold and anyio.current_time() >= self._deadline:
            self.close(f"timed out after {self._timeout:g} s")
            raise CallTimedOut(f"no answer within {self._timeout:g} s (callTimeout)")

    async def _next_event(self) -> None:
        await self._something_happened.wait()
        self._something_happened = anyio.Event()

    def _wake(self) -> None:
        self._something_happened.set()

    def _restart_clock(self) -> None:
        if self._timeout is not None:
            self._deadline = anyio.current_time() + self._timeout

    async def _pass_notifications_on(self) -> None:
        while self._notifications:
            async with self.link.telling:
                if self._notifications:
                    await self.caller.tell(*self._notifications.take())

    def _notify(self, method: str, params: JSONObject) -> None:
        self._notifications.put(method, params)
        self._wake()


def with_origin(params: JSONObject, origin: str) -> JSONObject:
    """A log message's params, with its toolbox and server before the logger's name."""
    logger = params.get("logger")
    return {**params, "logger": f"{origin}/{logger}" if isinstance(logger, str) and logger else origin}


def is_answer(method: str, answer: object) -> bool:
    """Whether an answer has the shape of one; whether it fits the question is for the server to judge."""
    if not isinstance(answer, Mapping):
        return False
    return method != "elicitation/create" or cast(JSONObject, answer).get("action") in _ACTIONS


def _pass_on(question: Question, answer: JSONObject) -> None:
    if is_answer(question.method, answer):
        question.answer(answer)
    else:
        question.refuse(INVALID_REQUEST, "The client's answer does not fit the question")
