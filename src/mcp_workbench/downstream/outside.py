"""What servers ask while no call of theirs is under way, and who answers.

Servers want to know the client's roots as soon as they are connected, and again when they hear that the roots changed.
A client of the older era is asked live, at any time. One of the newer era can be asked only by way of an answer to a
request of its own: an opening of the toolbox that is under way carries the question. With none under way, the last
answer stands in. Every question is answered within ten seconds, if only by a refusal, and nothing but roots is asked.
"""

from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import anyio
import anyio.abc
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

from mcp_workbench.downstream.caller import Ask
from mcp_workbench.downstream.question import Question
from mcp_workbench.jsonrpc.codec import JSONObject

PATIENCE = 10.0
"""Seconds that a server waits for an answer at most."""

_ROOTS = "roots/list"


@dataclass(frozen=True)
class _Waiting:
    toolbox: str
    question: Question


class OutsideQuestions:
    """The questions that no call carries, of all servers."""

    def __init__(self, tasks: anyio.abc.TaskGroup, patience: float = PATIENCE) -> None:
        self.ask: Ask | None = None
        """Asks the client at any time; None while there is no client that may be asked so."""
        self._tasks = tasks
        self._patience = patience
        self._openings: Counter[str] = Counter()
        self._live: Counter[str] = Counter()
        self._waiting: list[_Waiting] = []
        self._last_roots: JSONObject | None = None
        self._changed = anyio.Event()

    def put(self, toolbox: str, question: Question) -> None:
        """Take a question of a server of this toolbox; it is answered at some time."""
        if question.method != _ROOTS:
            question.refuse(INVALID_REQUEST, "No tool call is under way, so nobody can be asked")
        elif self.ask is not None:
            self._tasks.start_soon(self._ask_live, toolbox, question, self.ask)
        elif self._openings[toolbox] or self.waiting_for(toolbox):
            self._tasks.start_soon(self._wait_for_carrier, _Waiting(toolbox, question))
        elif self._last_roots is not None:
            question.answer(self._last_roots)
        else:
            question.refuse(INVALID_REQUEST, "No request of the client is open, so nobody can be asked")

    @contextmanager
    def carried_by_opening(self, toolbox: str) -> Generator[None]:
        """Let the questions of a toolbox wait for an opening of it, which will look for them."""
        self._openings[toolbox] += 1
        try:
            yield
        finally:
            self._openings[toolbox] -= 1

    def waiting_for(self, toolbox: str) -> dict[str, JSONObject]:
        """What a client is to be asked for the servers of a toolbox, by key: its roots, once for all of them."""
        asked = self._open_of(toolbox)
        return {_ROOTS: {"method": _ROOTS, "params": asked[0].params}} if asked else {}

    def answered(self, toolbox: str, answers: Mapping[str, object]) -> None:
        """Take a client's answers to what `waiting_for` gave."""
        if _ROOTS not in answers:
            return
        for question in self._open_of(toolbox):
            self._pass_on(question, answers[_ROOTS])
        self.remember(answers[_ROOTS])

    def remember(self, roots: object) -> None:
        """Keep an answer about roots, to stand in when nobody can be asked."""
        if _is_roots(roots):
            self._last_roots = cast(JSONObject, roots)

    def is_asking(self, toolbox: str) -> bool:
        """Whether the client is being asked live for a server of this toolbox."""
        return self._live[toolbox] > 0

    async def changed(self) -> None:
        """Wait until a question came, or was answered."""
        await self._changed.wait()

    async def _ask_live(self, toolbox: str, question: Question, ask: Ask) -> None:
        self._live[toolbox] += 1
        try:
            with anyio.move_on_after(self._patience) as waiting:
                self._pass_on(question, await ask(question.method, question.params))
            if waiting.cancelled_caught:
                question.refuse(INVALID_REQUEST, f"The client did not answer within {self._patience:g} s")
        except MCPError as refusal:
            question.refuse(refusal.code, refusal.error.message, refusal.error.data)
        finally:
            self._live[toolbox] -= 1
            self._announce()

    async def _wait_for_carrier(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        self._announce()
        try:
            with anyio.move_on_after(self._patience):
                await waiting.question.closed.wait()
            waiting.question.refuse(INVALID_REQUEST, f"The client did not answer within {self._patience:g} s")
        finally:
            self._waiting.remove(waiting)
            self._announce()

    def _open_of(self, toolbox: str) -> list[Question]:
        waiting = (waiting.question for waiting in self._waiting if waiting.toolbox == toolbox)
        return [question for question in waiting if not question.closed.is_set()]

    def _pass_on(self, question: Question, answer: object) -> None:
        if _is_roots(answer):
            question.answer(cast(JSONObject, answer))
        else:
            question.refuse(INVALID_REQUEST, "The client's answer does not fit the question")

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _is_roots(answer: object) -> bool:
    return isinstance(answer, dict) and isinstance(cast(JSONObject, answer).get("roots"), list)
