"""The cheapest downstream server there can be, so that what is measured is what stands in front of it.

`argv[1]` is the number of tools it lists: `text` returns `size` characters, `ask` has a question for the user first,
`wait` never answers, all others are like `text`. With a second argument it writes an empty line when it begins to read.
"""

import json
import sys
from typing import Any

Json = dict[str, Any]

NAMES = ["text", "ask", "wait"]
TOOL: Json = {
    "description": "Returns a text of the given size, as a tool of ordinary verbosity would describe itself",
    "inputSchema": {"type": "object", "properties": {"size": {"type": "integer", "description": "Characters"}}},
}
PHRASE = 'A line of text as tools return it: "quoted", with a naïve letter here and there.\n'
QUESTION: Json = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}

bodies: dict[int, str] = {}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    names = [*NAMES[:count], *(f"text_{number}" for number in range(len(NAMES), count))]
    tools = [{"name": name, **TOOL} for name in names]
    if len(sys.argv) > 2:
        write("")
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and (body := reply(message, tools)) is not None:
            write(f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{body}}}')


def write(line: str) -> None:
    sys.stdout.buffer.write(f"{line}\n".encode())
    sys.stdout.buffer.flush()


def reply(message: Json, tools: list[Json]) -> str | None:
    """What to send back under the message's id."""
    params: Json = message.get("params") or {}
    match message.get("method"):
        case "tools/call":
            return call(params)
        case None:  # the answer to a question, which has the id of the call that asked it
            return result(10)
        case "initialize":
            about: Json = {"serverInfo": {"name": "trivial", "version": "1"}, "capabilities": {"tools": {}}}
            return f'"result":{json.dumps({"protocolVersion": params["protocolVersion"], **about})}'
        case "tools/list":
            return f'"result":{json.dumps({"tools": tools})}'
        case _:
            return '"error":{"code":-32601,"message":"Method not found"}'


def call(params: Json) -> str | None:
    if params["name"] == "wait":
        return None
    if params["name"] == "ask":
        return f'"method":"elicitation/create","params":{json.dumps(QUESTION)}'
    return result(params["arguments"].get("size", 10))


def result(size: int) -> str:
    if size not in bodies:
        text = (PHRASE * (size // len(PHRASE) + 1))[:size]
        bodies[size] = json.dumps({"content": [{"type": "text", "text": text}], "isError": False}, ensure_ascii=False)
    return f'"result":{bodies[size]}'


if __name__ == "__main__":
    main()
