"""Questions to the user that come up during a tool call, in every pairing of eras.

One idea: a call either has its result or pauses with questions (see `ToolCall.next`). Two edges, each in two eras. How
the server asks is the tool call's business: a live request, or an `input_required` round. How the client is asked is
this module's: a client that may be asked while its request is open is asked live and the call goes on; any other gets
the pause as its own result, with a state to hold, and its retry goes on where the call stopped. A modern server's state
travels inside ours; a legacy server's call stays open here, parked, until the retry comes or patience ends.
"""

import json
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
import anyio.abc
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS

from mcp_workbench.downstream.caller import Ask, Caller, missing_capability
from mcp_workbench.downstream.outside import OutsideQuestions
from mcp_workbench.downstream.tool_call import Pause, Retry, ToolCall, is_answer
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer, RemoteError

logger = logging.getLogger(__name__)

PATIENCE = 600.0
"""Seconds that a parked call waits for its client."""

_MAX_ROUNDS = 20
"""How often a modern server may pause one call; a legacy one asks within it, as often as it likes."""

_FIRST_DELAY, _LONGEST_DELAY = 0.05, 0.25
"""Seconds between the rounds of a modern server that asks nothing and only wants to be called again."""


@dataclass(frozen=True)
class Resumption:
    """What a client's retry asks for: a parked call, or another round with a modern server."""

    parked: ToolCall | None
    retry: Retry | None


@dataclass(frozen=True)
class _Parked:
    call: ToolCall
    waiting: anyio.CancelScope
    """Ends the wait for its client."""


class Parking:
    """The calls of legacy servers that wait for a modern client to come back."""

    def __init__(self, tasks: anyio.abc.TaskGroup, outside: OutsideQuestions, patience: float = PATIENCE) -> None:
        self._tasks = tasks
        self._outside = outside
        self._patience = patience
        self._calls: dict[str, _Parked] = {}

    async def converse(self, call: ToolCall) -> JSONObject:
        """Bring a call to its result, or to a pause for its client to hold; raises like `ToolCall.next`."""
        parked = False
        try:
            rounds = 0
            while isinstance(step := await call.next(), Pause):
                if call.caller.ask is None:
                    parked = not call.link.greeting.modern
                    return self._hand_over(call, step)
                rounds += 1
                if call.link.greeting.modern and rounds > _MAX_ROUNDS:
                    raise BadAnswer(f"it asked for input more than {_MAX_ROUNDS} times")
                await _answer_live(call, step, call.caller.ask, rounds)
            return step
        finally:
            if not parked:
                call.close("the client no longer waits")

    def resumption(self, caller: Caller) -> Resumption:
        """What a retry with this state goes on with; the state itself was verified before.

        Raises:
            MCPError: The call it belongs to is over, or its answers do not fit the questions.
        """
        state = cast(JSONObject, json.loads(caller.state or "{}"))
        answers = dict(caller.answers or {})
        if "call" not in state:
            return Resumption(None, Retry(answers, state.get("server")))
        parked = self._calls.get(state["call"])
        if parked is None:
            raise MCPError(INVALID_PARAMS, "This question is no longer open: it was answered, or waited too long")
        _refuse_misfits(parked.call, answers)
        self._remember_roots(parked.call, answers)
        del self._calls[state["call"]]
        parked.waiting.cancel()
        parked.call.resume(answers, caller)
        return Resumption(parked.call, None)

    def close(self) -> None:
        """Give every parked call up: their servers get a cancelled answer."""
        calls, self._calls = self._calls, {}
        for parked in calls.values():
            parked.call.give_up("the workbench is shutting down")

    def _hand_over(self, call: ToolCall, pause: Pause) -> JSONObject:
        if call.link.greeting.modern:
            return {**pause.result, "requestState": codec.compact({"server": pause.server_state})}
        key = uuid.uuid4().hex
        self._calls[key] = parked = _Parked(call, anyio.CancelScope())
        self._tasks.start_soon(self._expire, key, parked)
        return {**pause.result, "requestState": codec.compact({"call": key})}

    def _remember_roots(self, call: ToolCall, answers: Mapping[str, object]) -> None:
        for key, answer in answers.items():
            if (question := call.question(key)) is not None and question.method == "roots/list":
                self._outside.remember(answer)

    async def _expire(self, key: str, parked: _Parked) -> None:
        with parked.waiting:
            await anyio.sleep(self._patience)
        if self._calls.pop(key, None) is not None:
            logger.warning("%s: gave up a call whose question nobody answered", parked.call.tool)
            parked.call.close("nobody answered its question")


async def _answer_live(call: ToolCall, pause: Pause, ask: Ask, rounds: int) -> None:
    if call.link.greeting.modern:
        questions = _live_questions(pause, call.caller.declared)
        call.begin(Retry(await _answers_for_modern(questions, ask, rounds), pause.server_state))
        return
    async with anyio.create_task_group() as asking:

        async def leave_when_settled() -> None:
            await call.settled()
            asking.cancel_scope.cancel()

        async def ask_all() -> None:
            async with anyio.create_task_group() as each:
                for key in pause.questions:
                    each.start_soon(_answer_for_legacy, call, key, ask)
            asking.cancel_scope.cancel()

        asking.start_soon(leave_when_settled)
        asking.start_soon(ask_all)
    call.resume({})


async def _answer_for_legacy(call: ToolCall, key: str, ask: Ask) -> None:
    """Ask one question for as long as the server wants the answer."""
    question = call.question(key)
    if question is None:
        return
    async with anyio.create_task_group() as asking:

        async def leave_when_withdrawn() -> None:
            await question.closed.wait()
            asking.cancel_scope.cancel()

        asking.start_soon(leave_when_withdrawn)
        try:
            question.answer(await ask(question.method, question.params))
        except MCPError as refusal:
            if refusal.code == CONNECTION_CLOSED:  # the client left; it refused nothing
                question.give_up()
            else:
                question.refuse(refusal.code, refusal.error.message, refusal.error.data)


def _live_questions(pause: Pause, declared: Mapping[str, Any]) -> dict[str, tuple[str, JSONObject]]:
    """The questions of a modern server's round, each as the method and params of a request to a legacy client.

    Raises:
        BadAnswer: The client cannot be asked that.
    """
    questions: object = pause.result.get("inputRequests") or {}
    if not isinstance(questions, Mapping):
        raise BadAnswer("its questions are not an object")
    return {key: _live_question(question, declared) for key, question in cast(JSONObject, questions).items()}


def _live_question(question: object, declared: Mapping[str, Any]) -> tuple[str, JSONObject]:
    asked = cast(JSONObject, question) if isinstance(question, dict) else JSONObject()
    method, params = asked.get("method"), asked.get("params") or JSONObject()
    if not isinstance(method, str) or not isinstance(params, dict):
        raise BadAnswer("it asked a question without a method or with params that are not an object")
    params = cast(JSONObject, params)
    if (missing := missing_capability(declared, method, params)) is not None:
        raise BadAnswer(f"it asked for {missing}, which the client does not support")
    if method == "elicitation/create" and params.get("mode") == "url":
        params = {"elicitationId": uuid.uuid4().hex, **params}  # required before 2026-07-28 and gone from then on
    return method, params


async def _answers_for_modern(
    questions: Mapping[str, tuple[str, JSONObject]], ask: Ask, rounds: int
) -> dict[str, JSONObject]:
    """Ask all the questions of a round at once; the first refusal ends the call."""
    answers: dict[str, JSONObject] = {}
    refusals: list[RemoteError] = []
    if not questions:
        await anyio.sleep(min(_FIRST_DELAY * 2 ** (rounds - 1), _LONGEST_DELAY))
    async with anyio.create_task_group() as each:

        async def ask_one(key: str, method: str, params: JSONObject) -> None:
            try:
                answers[key] = await ask(method, params)
            except MCPError as refusal:
                refusals.append(RemoteError(refusal.code, refusal.error.message, refusal.error.data))
                each.cancel_scope.cancel()

        for key, (method, params) in questions.items():
            each.start_soon(ask_one, key, method, params)
    if refusals:
        raise refusals[0]
    return answers


def _refuse_misfits(call: ToolCall, answers: Mapping[str, object]) -> None:
    """Refuse answers of the wrong shape before they touch the call: the client can try again."""
    for key, answer in answers.items():
        question = call.question(key)
        if question is not None and not is_answer(question.method, answer):
            raise MCPError(INVALID_PARAMS, f"The answer to '{key}' is not a valid answer to {question.method}")
