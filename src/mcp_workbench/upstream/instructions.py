"""What the workbench says of itself to a model: instructions and tool descriptions, each within the limit of clients.

Claude Code silently cuts such texts at 2,048 characters, so the listing of toolboxes shrinks until it fits (shorter
descriptions, then names alone, then a count of the rest). Many clients keep `instructions` from the model, and some
show it only the first 160 characters of a tool's description: so the description of `open_toolbox` says all of it too,
and begins with the toolboxes' names. The texts are made from the config as it is when a client asks for them.
"""

from collections.abc import Iterable, Mapping, Sequence

from mcp_workbench.config.models import ToolboxConfig

LIMIT = 2048

_HOW_TO = """\
This server gives access to many tools, grouped into toolboxes. Use `open_toolbox` to connect to a toolbox, then \
`use_tool` to invoke tools.

1. Choose a toolbox below and call open_toolbox with {"toolbox_name": "NAME"}. It answers with that toolbox's tools: \
their names, servers, descriptions and parameters.
2. Call use_tool with one of them, for example:
{"tool": {"toolbox": "NAME", "server": "SERVER", "tool": "TOOL"}, "arguments": {"path": "/tmp/notes.txt"}}
"toolbox", "server" and "tool" are the fields toolbox_name, source_server and name of the tool's entry; "arguments" \
must fit its inputSchema.

A toolbox stays open; opening it again is free and shows its tools again."""

_SEARCH = """

To find a tool by what it does, in all toolboxes at once, call find_tools with {"query": "WORDS"}. use_tool works on \
what it finds, whether or not the toolbox is open."""

_NO_TOOLBOX = """\
No toolbox is configured. The user can add one to the "toolboxes" object of the workbench's config file \
(workbench-config.json) and restart the client."""

_OPEN = """\
Connects to a toolbox and lists its tools. Returns JSON: "tools" holds an entry for each tool with its name, \
source_server, toolbox_name, description and inputSchema, which is what use_tool needs. "_errors" names servers that \
could not be connected; the others work, and opening again retries them. Safe to call again."""

FIND = """\
Finds tools by what they do, in every toolbox, open or not. Returns JSON: "tools" holds the entries of those that fit \
best, best first, each with the name, toolbox_name, source_server, description and inputSchema that use_tool needs; \
use_tool connects the server by itself. "_not_searched" names servers whose tools are not known yet: open their \
toolbox if it suits. Example: {"query": "create an issue"}"""

_USE = """\
Invoke a tool of a toolbox{which}, and get that tool's own result. "tool" says which: toolbox, \
server and tool are the toolbox_name, source_server and name that open_toolbox returned, exactly. "arguments" is an \
object that fits the tool's inputSchema. Example: {{"tool": {{"toolbox": "dev", "server": "filesystem", "tool": \
"read_file"}}, "arguments": {{"path": "/tmp/notes.txt"}}}}"""

_OPENED = " that open_toolbox has opened"
_ANY = "; its server is connected if it is not yet"

_DESCRIPTION_LENGTHS = (400, 200, 100, 60, 30)


def instructions(toolboxes: Mapping[str, ToolboxConfig], *, searches: bool = False) -> str:
    """How to use the workbench, and its toolboxes; with `searches`, how to find tools without opening them too."""
    how_to = _HOW_TO + _SEARCH if searches else _HOW_TO
    if not toolboxes:
        return f"{how_to}\n\n{_NO_TOOLBOX}"
    return f"{how_to}\n\nToolboxes:\n" + _listing(toolboxes, LIMIT - len(how_to) - len("\n\nToolboxes:\n"))


def open_toolbox_description(toolboxes: Mapping[str, ToolboxConfig]) -> str:
    """The toolboxes that `open_toolbox` knows, their names first, and what it does."""
    if not toolboxes:
        return f"{_NO_TOOLBOX} {_OPEN}"
    room = LIMIT - len(_OPEN) - len("\n\n")
    names = "Toolboxes: " + _joined([f"`{_flat(name)}`" for name in toolboxes], ", ", room - len("Toolboxes: "))
    described = _described(toolboxes, room - len(names) - len("\n"))
    return "\n".join(filter(None, (names, described))) + f"\n\n{_OPEN}"


def use_tool_description(*, opens_by_itself: bool = False) -> str:
    """What `use_tool` does, by whether it connects servers of toolboxes that are not open."""
    return _USE.format(which=_ANY if opens_by_itself else _OPENED)


def _listing(toolboxes: Mapping[str, ToolboxConfig], room: int) -> str:
    return _described(toolboxes, room) or _joined([f"- {_flat(name)}" for name in toolboxes], "\n", room)


def _described(toolboxes: Mapping[str, ToolboxConfig], room: int) -> str:
    """Every toolbox with its description, as much of it as there is room for; nothing if that is hardly any."""
    for length in (LIMIT, *_DESCRIPTION_LENGTHS):
        lines = "\n".join(_lines(toolboxes, length))
        if len(lines) <= room:
            return lines
    return ""


def _lines(toolboxes: Mapping[str, ToolboxConfig], longest: int) -> Iterable[str]:
    for name, toolbox in toolboxes.items():
        count = len(toolbox.servers)
        servers = "1 server" if count == 1 else f"{count} servers"
        yield f"- {_flat(name)} ({servers}): {_shortened(_flat(toolbox.description), longest)}"


def _joined(items: Sequence[str], separator: str, room: int) -> str:
    """As many items as there is room for, then a count of the rest."""
    text = separator.join(items)
    shown = len(items)
    while len(text) > room and shown:
        shown -= 1
        rest = f"and {len(items) - shown} more (open_toolbox names them when it is given a wrong name)"
        text = separator.join([*items[:shown], rest])
    return text


def _flat(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
