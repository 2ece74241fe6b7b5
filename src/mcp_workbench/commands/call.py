"""`mcp-workbench call TOOLBOX SERVER TOOL`: one real call, shown as a person reads it."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any, cast

from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from mcp_workbench.commands.arguments import parse_arguments
from mcp_workbench.commands.loading import load, only, show_notes
from mcp_workbench.commands.login_offer import has_logged_in
from mcp_workbench.commands.session import with_manager
from mcp_workbench.commands.terminal import console, line, shown, write_json
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.errors import ToolboxFailed, WorkbenchError
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes.manager import ClientManager, ToolReference


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Starts one server, calls one of its tools and shows the result. Arguments are key=value words, which take "
        "the types that the tool's input schema gives them, or one JSON object. Exit status 1 when the tool says "
        "that it failed."
    )
    parser.epilog = "Example: mcp-workbench call dev filesystem read_file path=/etc/hosts"
    parser.add_argument("toolbox", metavar="TOOLBOX", help="the toolbox")
    parser.add_argument("server", metavar="SERVER", help="the server in it")
    parser.add_argument("tool", metavar="TOOL", help="the tool to call")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs="*", default=[], help="key=value, or one JSON object")
    parser.add_argument("--json", action="store_true", help="write the result as the server sent it")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    reference = ToolReference(args.toolbox, args.server, args.tool)
    loaded = load(args, lambda toolbox, server: (toolbox, server) == (reference.toolbox, reference.server))
    show_notes(loaded)
    alone, call = only(loaded, args.toolbox, args.server), _Call(reference, args.arguments)
    try:
        result = with_manager(alone, call.make)
    except ToolboxFailed as failure:
        if args.json or not has_logged_in(loaded, failure.failures):
            raise
        result = with_manager(alone, call.make)
    failed = result.get("isError") is True
    if args.json:
        write_json(result)
    else:
        _show(result, failed=failed)
    return 1 if failed else 0


class _Call:
    """One call, told to a person who waits for it."""

    def __init__(self, reference: ToolReference, words: list[str]) -> None:
        self._reference = reference
        self._words = words
        self._err = console(stderr=True)

    async def make(self, manager: ClientManager) -> JSONObject:
        """Open the toolbox, make the call and return its result as it came."""
        reference = self._reference
        tools = (await manager.open(reference.toolbox, Caller())).tools[reference.server]
        schema = next((tool.get("inputSchema") for tool in tools.raw if tool["name"] == reference.tool), None)
        # A tool that is not there gets its sentence from the call, and its arguments cannot be judged.
        arguments = parse_arguments(self._words, schema) if reference.tool in tools else {}
        try:
            return await manager.call(reference, arguments, Caller(progress_token=1, tell=self._hear, ask=_refuse))
        except MCPError as error:
            raise WorkbenchError(_first_visit(error)) from None

    async def _hear(self, method: str, params: JSONObject) -> None:
        if method == "notifications/progress" and self._err.is_terminal:
            total = f" of {_amount(params['total'])}" if isinstance(params.get("total"), int | float) else ""
            message = f": {params['message']}" if params.get("message") else ""
            told = f"progress {_amount(params.get('progress'))}{total}{message}"
            self._err.print(f"[dim]{line(told)}[/]")


def _amount(value: object) -> str:
    """A number as one says it; a server may send one that is larger than any float, and than Python likes to print."""
    try:
        return f"{value:g}" if isinstance(value, int | float) else str(value)
    except (OverflowError, ValueError):
        return "a very large number"


async def _refuse(method: str, params: JSONObject) -> JSONObject:
    """Answer no question: no capability is declared, and what a server asks all the same is refused before this."""
    raise MCPError(METHOD_NOT_FOUND, f"mcp-workbench call cannot answer {method}")


def _first_visit(error: MCPError) -> str:
    """Say what the server wants done before the call, with the addresses to go to."""
    match error.data:
        case {"elicitations": [*elicitations]}:
            urls = [str(cast("Mapping[str, Any]", each).get("url")) for each in elicitations if isinstance(each, dict)]
            return "\n".join([error.message, *urls])
        case _:
            return error.message


def _show(result: JSONObject, *, failed: bool) -> None:
    err = console(stderr=True)
    if failed:
        err.print("[red]The tool says that it failed:[/]")
    content = result.get("content")
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    for block in blocks:
        text = shown(_readable(block))
        sys.stdout.write(text if text.endswith("\n") else text + "\n")  # not through rich, which would expand tabs
    if not blocks and "structuredContent" in result:
        write_json(result["structuredContent"])
    elif not blocks:
        err.print("[dim]The tool returned nothing to show.[/]")


def _readable(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return f"[{kind}: {block.get('mimeType', 'unknown type')}, {_bytes(data)}]"
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[resource: {block.get('title') or block.get('name') or ''} <{uri}>]"
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource", "resource": {"blob": str(blob)} as resource}:
            details = cast("Mapping[str, Any]", resource)
            return f"[resource: {details.get('uri')}, {details.get('mimeType', 'unknown type')}, {_bytes(blob)}]"
        case _:
            return codec.compact(block)


def _bytes(base64_text: str) -> str:
    return f"{len(base64_text.rstrip('=')) * 3 // 4:,} bytes"
