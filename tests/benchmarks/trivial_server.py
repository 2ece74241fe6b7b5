"""The cheapest downstream server there can be, so that what is measured is what stands in front of it.

`argv[1]` is the number of tools it lists. The first, `text`, returns `size` characters. With a second argument it
writes an empty line when it is ready to read.
"""

import json
import sys
from typing import Any

Json = dict[str, Any]

TOOL: Json = {
    "description": "Returns a text of the given size, as a tool of ordinary verbosity would describe itself",
    "inputSchema": {"type": "object", "properties": {"size": {"type": "integer", "description": "Characters"}}},
}


def answer(request: Json, tools: list[Json], bodies: dict[int, str]) -> str:
    method = request["method"]
    params: Json = request.get("params") or {}
    if method == "tools/call":
        size = params["arguments"].get("size", 10)
        if size not in bodies:
            bodies[size] = json.dumps({"content": [{"type": "text", "text": "x" * size}], "isError": False})
        return f'"result":{bodies[size]}'
    if method == "initialize":
        about: Json = {"serverInfo": {"name": "trivial", "version": "1"}, "capabilities": {"tools": {}}}
        return f'"result":{json.dumps({"protocolVersion": params["protocolVersion"], **about})}'
    if method == "tools/list":
        return f'"result":{json.dumps({"tools": tools})}'
    return '"error":{"code":-32601,"message":"Method not found"}'


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    tools = [{"name": "text" if number == 0 else f"text_{number}", **TOOL} for number in range(count)]
    bodies: dict[int, str] = {}
    if len(sys.argv) > 2:
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request and "method" in request:
            body = answer(request, tools, bodies)
            sys.stdout.buffer.write(f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},{body}}}\n'.encode())
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
