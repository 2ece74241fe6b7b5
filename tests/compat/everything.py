"""Calls of every tool of `@modelcontextprotocol/server-everything`, as a client sees them.

They are made directly or through the workbench, and must look alike. Two tools are missing, as the server offers them
only to clients that declare tasks: `trigger-sampling-request-async` and `trigger-elicitation-request-async`.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from wire import PREFIX, Json, RpcError, WireClient

CAPABILITIES: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}
ACCEPTED: Json = {"action": "accept", "content": {"name": "blue", "integer": 7, "titledMultipleSelectEnum": ["fish-2"]}}
SAMPLED: Json = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "la"}, "stopReason": "endTurn"}
ROOTED: Json = {"roots": [{"uri": "file:///home/you", "name": "home"}]}
HELLO = "data:text/plain;base64,SGVsbG8="

Addressed = Callable[[str, Json], tuple[str, Json]]
"""Turns a tool and its arguments into what the client calls: the same, or `use_tool`."""


@dataclass(frozen=True)
class Step:
    """One call, and what its user answers when asked."""

    tool: str
    arguments: Json = field(default_factory=Json)
    answer: Json = field(default_factory=Json)


STEPS: dict[str, Step] = {
    "text": Step("echo", {"message": "h\u00e9llo \u2028 \U0001f600"}),
    "number": Step("get-sum", {"a": 1, "b": 2.5}),
    "wrong arguments": Step("get-sum", {"a": "one"}),
    "annotations": Step("get-annotated-message", {"messageType": "error", "includeImage": True}),
    "image": Step("get-tiny-image"),
    "resource links": Step("get-resource-links", {"count": 4}),
    "text resource": Step("get-resource-reference", {"resourceType": "Text", "resourceId": 2}),
    "blob resource": Step("get-resource-reference", {"resourceType": "Blob", "resourceId": 3}),
    "compressed resource": Step("gzip-file-as-resource", {"name": "a.gz", "data": HELLO, "outputType": "resource"}),
    "link to a resource": Step("gzip-file-as-resource", {"name": "b.gz", "data": HELLO, "outputType": "resourceLink"}),
    "structured content": Step("get-structured-content", {"location": "Chicago"}),
    "environment": Step("get-env"),
    "progress": Step("trigger-long-running-operation", {"duration": 0.2, "steps": 4}),
    "form accepted": Step("trigger-elicitation-request", answer=ACCEPTED),
    "form declined": Step("trigger-elicitation-request", answer={"action": "decline"}),
    "form cancelled": Step("trigger-elicitation-request", answer={"action": "cancel"}),
    "url accepted": Step("trigger-url-elicitation", {"url": "https://example.com/a"}, answer={"action": "accept"}),
    "url required first": Step("trigger-url-elicitation", {"url": "https://example.com/b", "errorPath": True}),
    "sampling": Step("trigger-sampling-request", {"prompt": "Sing", "maxTokens": 5}, answer=SAMPLED),
    "roots": Step("get-roots-list", answer=ROOTED),
    "task required": Step("simulate-research-query", {"topic": "python", "ambiguous": True}),
    "logging on": Step("toggle-simulated-logging"),
    "logging off": Step("toggle-simulated-logging"),
    "updates on": Step("toggle-subscriber-updates"),
    "updates off": Step("toggle-subscriber-updates"),
}


@dataclass
class Seen:
    """What a client saw of one call."""

    outcome: Json = field(default_factory=Json)
    questions: list[Json] = field(default_factory=list[Json])
    progress: list[Json] = field(default_factory=list[Json])


@dataclass
class Recording:
    """What a client saw of all of them."""

    tools: list[Json]
    steps: dict[str, Seen] = field(default_factory=dict[str, Seen])
    roots_questions: list[Json] = field(default_factory=list[Json])
    """Apart from the calls: the server asks for roots by itself a moment after it was greeted, too."""
    logs: list[Json] = field(default_factory=list[Json])


async def record(client: WireClient, tools: list[Json], addressed: Addressed) -> Recording:
    """Make every call, one after the other."""
    recording = Recording(tools)
    for name, step in STEPS.items():
        seen = recording.steps[name] = Seen()
        _answer_questions(client, step, seen, recording)
        known = len(client.notifications)
        seen.outcome = steady(await _outcome(client, *addressed(step.tool, step.arguments)))
        seen.progress = [
            message["params"]
            for message in client.notifications[known:]
            if message["method"] == "notifications/progress"
        ]
    recording.logs = [steady(log["params"]) for log in client.notifications if log["method"] == "notifications/message"]
    return recording


def _answer_questions(client: WireClient, step: Step, seen: Seen, recording: Recording) -> None:
    async def answer(method: str, params: Json) -> Json:
        seen.questions.append(steady({"method": method, "params": params}))
        return step.answer

    async def elicited(params: Json) -> Json:
        return await answer("elicitation/create", params)

    async def sampled(params: Json) -> Json:
        return await answer("sampling/createMessage", params)

    async def rooted(params: Json) -> Json:
        recording.roots_questions.append(params)
        return ROOTED

    client.on_request.update({"elicitation/create": elicited, "sampling/createMessage": sampled, "roots/list": rooted})


async def _outcome(client: WireClient, tool: str, arguments: Json) -> Json:
    params: Json = {"name": tool, "arguments": arguments}
    meta: Json = {PREFIX + "logLevel": "debug"} if client.era == "modern" else {}
    try:
        result = await client.request("tools/call", params, meta=meta, progress_token="mine")
        while result.get("resultType") == "input_required":
            answers = await client.answers_to(result)
            result = await client.request("tools/call", {**params, **answers}, meta=meta, progress_token="mine")
    except RpcError as error:
        return {"error": {"code": error.code, "message": error.message, "data": error.data}}
    return {"result": result}


_MADE_UP = {
    r"\d{1,2}:\d\d:\d\d [AP]M": "<time>",
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}": "<id>",
    r"[A-Z][a-z]+[- ]level[- ]message": "<random message>",
}
"""What the server makes up anew each time, and what stands for it."""


def steady(value: Any) -> Any:
    """A JSON value without what differs from run to run: times, ids and the random messages with their levels."""
    match value:
        case {"blob": str() as blob, "mimeType": "text/plain"}:
            rest = cast(Json, value)
            return {**rest, "blob": steady(base64.b64decode(blob).decode())}
        case {"level": str(), "data": str()}:
            return {**cast(Json, value), "level": "<random>", "data": steady(cast(Json, value)["data"])}
        case dict():
            return {key: steady(inner) for key, inner in cast(Json, value).items()}
        case list():
            return [steady(inner) for inner in cast("list[Any]", value)]
        case str():
            for pattern, name in _MADE_UP.items():
                value = re.sub(pattern, name, value)
            return value
        case _:
            return value
