"""A server over streamable HTTP that costs next to nothing: every path is one, and answers with plain JSON.

It says its port on stdout and serves until its stdin ends.
"""

import asyncio
import json
import sys
from typing import Any

TOOLS = {"tools": [{"name": "text", "description": "Some text.", "inputSchema": {"type": "object"}}]}
Json = dict[str, Any]
LINE = "A line of text. "


def answer(message: Json) -> Json:
    """The response to a request."""
    params: Json = message.get("params") or {}
    result: Json
    match message.get("method"):
        case "initialize":
            info = {"name": "trivial", "version": "1"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            result = TOOLS
        case "tools/call":
            size: int = params["arguments"].get("size", 10)
            text = (LINE * (size // len(LINE) + 1))[: max(size, len(LINE))]
            result = {"content": [{"type": "text", "text": text}]}
        case _:
            error = {"code": -32601, "message": "Method not found"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, until the client closes it."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(lines.get("content-length", "0")))
            writer.write(response(head.split(" ", 1)[0], body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def response(method: str, body: bytes) -> bytes:
    """The bytes to answer with."""
    if method != "POST":
        return b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n"
    message = json.loads(body)
    if "id" not in message:
        return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
    content = json.dumps(answer(message)).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(content) + content


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
