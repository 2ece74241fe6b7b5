"""The calls of a fault run, and the judgement of what comes back.

Every call carries a token that no other has. An answer that shows another's token was delivered to the wrong caller;
a token that the servers' own logs show twice was executed twice.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wire import Json

_TOKEN = re.compile(r"tok-\d+")
_NEVER_SHOWN = ("Traceback", "TaskGroup", "unhandled error")


@dataclass(frozen=True)
class Target:
    """A server, as `use_tool` names it."""

    toolbox: str
    server: str


@dataclass(frozen=True)
class Request:
    """One call that is to be made."""

    token: str
    target: Target
    tool: str
    arguments: Json
    cancel_after: float | None = None

    @property
    def use_tool(self) -> Json:
        reference = {"toolbox": self.target.toolbox, "server": self.target.server, "tool": self.tool}
        return {"tool": reference, "arguments": {**self.arguments, "token": self.token}}

    @property
    def failure_sentences(self) -> tuple[str, str]:
        toolbox, server = self.target.toolbox, self.target.server
        return (
            f"Error executing tool '{self.tool}' in server '{server}' (toolbox '{toolbox}'): ",
            f"Failed to connect to server '{server}' in toolbox '{toolbox}': ",
        )


@dataclass
class Tally:
    """What became of the calls. Everything in `violations` must never happen."""

    sent: int = 0
    correct: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])
    cancelled: int = 0
    lost: int = 0
    misdelivered: int = 0
    reopened: int = 0
    violations: list[str] = field(default_factory=list[str])
    answered_tokens: set[str] = field(default_factory=set[str])
    refused_tokens: set[str] = field(default_factory=set[str])

    def judge(self, request: Request, result: Json, *, begun: bool = False) -> None:
        """Sort one answer into what it is; a call that has begun had asked its client something before."""
        shown = json.dumps(result)
        if strangers := set(_TOKEN.findall(shown)) - {request.token}:
            self.misdelivered += 1
            self.violations.append(f"{request.token} got an answer meant for {sorted(strangers)}: {shown[:300]}")
        elif any(word in shown for word in _NEVER_SHOWN):
            self.violations.append(f"{request.token} got an error no person can use: {shown[:500]}")
        elif not result.get("isError"):
            self._judge_success(request, result)
        else:
            self._judge_failure(request, result, begun)

    def _judge_success(self, request: Request, result: Json) -> None:
        if EXPECTED[request.tool](request, result):
            self.correct += 1
            self.answered_tokens.add(request.token)
        else:
            self.violations.append(f"{request.tool} {request.token} got {json.dumps(result)[:300]}")

    def _judge_failure(self, request: Request, result: Json, begun: bool) -> None:
        text: str = result["content"][0]["text"]
        executing, connecting = request.failure_sentences
        if request.tool == "fail" and text == request.token:
            self.correct += 1
            self.answered_tokens.add(request.token)
        elif text.startswith(executing):
            self.failed["Error executing tool"] += 1
        elif text.startswith(connecting):
            self.failed["Failed to connect to server"] += 1
            if not begun:
                self.refused_tokens.add(request.token)
        else:
            self.violations.append(f"{request.tool} {request.token} failed with the wrong sentence: {text[:300]}")


def _text(result: Json) -> str:
    return result["content"][0]["text"]


def _echoes(request: Request, result: Json) -> bool:
    return json.loads(_text(result)) == request.use_tool["arguments"]


def _says(text: str) -> Callable[[Request, Json], bool]:
    return lambda _request, result: _text(result) == text


def _accepted(rounds: list[Json]) -> list[str]:
    """What the client answered, round by round."""
    return [answer["content"]["name"] for answers in rounds for answer in answers.values()]


def _never(_request: Request, _result: Json) -> bool:
    return False


EXPECTED: dict[str, Callable[[Request, Json], bool]] = {
    "echo": _echoes,
    "add": lambda request, result: result["structuredContent"]["sum"] == request.arguments["a"] + 1,
    "slow": _says("waited"),
    "progress": _says("done"),
    "raw": lambda request, result: _text(result) == request.token,
    "raw_line": lambda request, result: bool(request.arguments["then_answer"]) and _text(result) == "answered",
    "double": _says("first"),
    "big": lambda request, result: len(_text(result)) == request.arguments["n"],
    "stderr": _says("written"),
    "flood": _says("flooded"),
    "ask": lambda request, result: _accepted(json.loads(_text(result))) == [request.token],
    **dict.fromkeys(("crash", "hang", "wrong_id", "error", "fail"), _never),
}

_WEIGHTS = {
    "echo": 50, "add": 15, "slow": 12, "progress": 4, "raw": 5, "fail": 2, "error": 2, "big": 1, "stderr": 2,
    "double": 1, "raw_line": 2, "wrong_id": 0.5, "hang": 0.5, "crash": 0.3, "ask": 4,
    "flood": 0.5,
}  # fmt: skip


async def answer(question: Json) -> Json:
    """Answer a question with what it says, after the name of who asks: the token of the call."""
    return {"action": "accept", "content": {"name": question["message"].rpartition(" asks: ")[2]}}


class CallMaker:
    """Draws calls at random, each with a token of its own."""

    def __init__(self, chance: random.Random, targets: list[Target]) -> None:
        self._chance = chance
        self._targets = targets
        self._count = 0

    def draw(self, tool: str | None = None, target: Target | None = None) -> Request:
        self._count += 1
        tool = tool or self._chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        cancels = tool in ("slow", "hang") and self._chance.random() < 0.15
        return Request(
            token=f"tok-{self._count}",
            target=target or self._chance.choice(self._targets),
            tool=tool,
            arguments=self._arguments(tool, f"tok-{self._count}"),
            cancel_after=self._chance.uniform(0, 0.2) if cancels else None,
        )

    def _arguments(self, tool: str, token: str) -> dict[str, Any]:
        chance = self._chance
        match tool:
            case "add":
                return {"a": self._count, "b": 1}
            case "slow":
                return {"seconds": chance.uniform(0.01, 0.5)}
            case "progress":
                return {"n": chance.randint(1, 4), "interval": 0.02}
            case "raw":
                return {"result": {"resultType": "complete", "content": [{"type": "text", "text": token}]}}
            case "fail":
                return {"text": token}
            case "error" | "ask":
                return {"message": token}
            case "big":
                return {"n": chance.randint(1, 300_000)}
            case "stderr":
                return {"text": "a line of complaint\n" * chance.randint(1, 2000)}
            case "raw_line":
                return {"line": _garbage(chance), "then_answer": chance.random() < 0.8}
            case _:
                return _flood(chance) if tool == "flood" else {}


def _flood(chance: random.Random) -> dict[str, Any]:
    """Many thousand messages of one kind, or some that are long; now and then of a server that reads no answers."""
    kind = chance.choice(("log", "progress", "complete", "changes", "ping", "unknown", "answers", "noise", "question"))
    size, count = chance.choice(((0, 20_000), (1000, 5_000), (1_000_000, 20)))
    deaf = kind in ("ping", "unknown") and chance.random() < 0.3
    return {"kind": kind, "size": size, "count": 150 if kind == "question" else count, "deaf": deaf}


def _garbage(chance: random.Random) -> str:
    return chance.choice(
        (
            "Listening on stdin",
            '{"jsonrpc": "2.0", "id":',
            "[]",
            "null",
            '{"id": 1}',
            "\x00\x1b[31m\ufffd",
            "x" * 100_000,
        )
    )
