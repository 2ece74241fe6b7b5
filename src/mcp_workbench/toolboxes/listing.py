"""What `open_toolbox` answers: the tools of a toolbox, no longer than the client in front shows to its model.

A listing that fits is never touched. One that does not is shortened a server at a time, the largest first: to
signatures, then to signatures with first sentences, then to names; `_notes` says of which servers, and how to see the
rest. Each server's tools are written once for each of these forms, and kept as text while its tool list lives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any
from weakref import WeakKeyDictionary

from mcp_workbench.config.models import ListingStyle
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import UnknownServer, UnknownTool
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.suggestions import closest
from mcp_workbench.toolboxes import compact
from mcp_workbench.toolboxes.opening import OpenedToolbox
from mcp_workbench.toolboxes.selection import Selection

LONGEST_INSTRUCTIONS = 2048
"""Of one server's own instructions; clients that are connected to it directly cut them there too."""


class Form(IntEnum):
    """How much of a server's tools is shown, from everything to the least."""

    FULL = 0
    SIGNATURES = 1
    SENTENCES = 2
    NAMES = 3

    @classmethod
    def of(cls, style: ListingStyle) -> "Form":
        """The form that the config asks for."""
        return cls.FULL if style == "full" else cls.SIGNATURES


_SHORT = 300
_MOST_NAMED = 10
_HOW = {
    Form.SIGNATURES: "as signatures",
    Form.SENTENCES: "with first sentences only",
    Form.NAMES: "by name only",
}


def entry(toolbox: str, server: str, tool: Mapping[str, Any]) -> JSONObject:
    """One tool with its whole schema: what the contract says of an entry, and no more."""
    shown = {"name": tool["name"], "toolbox_name": toolbox, "source_server": server}
    for key in ("description", "inputSchema"):
        if tool.get(key) is not None:
            shown[key] = tool[key]
    if not shown.get("description") and tool.get("title") is not None:
        shown["title"] = tool["title"]
    return shown


class ServerTools:
    """The tools of one server of a toolbox, written when somebody wants them and then kept as text."""

    def __init__(self, toolbox: str, server: str, tools: Sequence[Mapping[str, Any]]) -> None:
        self._toolbox = toolbox
        self._server = server
        self._tools = tools
        self._texts: dict[Form, str] = {}

    def text(self, form: Form) -> str:
        """What stands in the list of tools for this server: an entry a tool, or one entry for all of them."""
        if not self._tools:
            return ""
        if form not in self._texts:
            self._texts[form] = self._written(form)
        return self._texts[form]

    def _written(self, form: Form) -> str:
        if form is Form.FULL:
            return ",".join(codec.compact(entry(self._toolbox, self._server, tool)) for tool in self._tools)
        if form is Form.NAMES:
            return self.group("names", [str(tool["name"]) for tool in self._tools])
        return self.group(
            "signatures", (compact.lines if form is Form.SIGNATURES else compact.short_lines)(self._tools)
        )

    def group(self, key: str, lines: Sequence[str]) -> str:
        """One entry for several tools of the server."""
        return codec.compact({"toolbox_name": self._toolbox, "source_server": self._server, key: lines})

    def some_names(self, room: int) -> tuple[str, int]:
        """As many names as there is room for, and the number of tools that are left out."""
        names: list[str] = []
        room -= len(self.group("names", []))
        for tool in self._tools:
            room -= len(codec.compact(tool["name"])) + 1
            if room < 0:
                break
            names.append(str(tool["name"]))
        return (self.group("names", names) if names else ""), len(self._tools) - len(names)


_WRITTEN: WeakKeyDictionary[ToolList, dict[tuple[str, str], ServerTools]] = WeakKeyDictionary()


def server_tools(toolbox: str, server: str, tools: ToolList) -> ServerTools:
    """The texts of a tool list, which live as long as it does."""
    written = _WRITTEN.setdefault(tools, {})
    if (toolbox, server) not in written:
        written[toolbox, server] = ServerTools(toolbox, server, tools.raw)
    return written[toolbox, server]


@dataclass(frozen=True)
class Contents:
    """What a listing is about."""

    toolbox: str
    description: str
    servers: Mapping[str, ServerTools]
    """The servers whose tools are listed, in the config's order."""
    connected: int
    instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    """What servers say about themselves."""
    notes: Sequence[str] = ()
    errors: Sequence[str] = ()


def contents_of(opened: OpenedToolbox, selection: Selection | None = None) -> Contents:
    """What there is to list of an opened toolbox, or of the part of it that is asked for.

    Raises:
        ConnectFailed: The server asked for could not be connected.
        UnknownServer, UnknownTool: There is no such server any more, or it does not have the tool asked for.
    """
    if selection is not None and selection.server is not None:
        return _part_of(opened, selection.server, selection.tool)
    servers = {server: server_tools(opened.name, server, tools) for server, tools in opened.tools.items()}
    errors = [str(error) for error in opened.errors.values()]
    notes = [note for own in opened.notes.values() for note in own]
    return Contents(
        opened.name, opened.config.description, servers, len(opened.tools), opened.instructions, notes, errors
    )


def _part_of(opened: OpenedToolbox, server: str, tool: str | None) -> Contents:
    if server in opened.errors:
        raise opened.errors[server]
    if server not in opened.tools:  # the config has changed meanwhile
        raise UnknownServer(f"Server '{server}' not found in toolbox '{opened.name}'")
    tools = opened.tools[server]
    if tool is None:
        texts, instructions = server_tools(opened.name, server, tools), opened.instructions.get(server)
    else:
        texts, instructions = ServerTools(opened.name, server, [_tool(opened.name, server, tools, tool)]), None
    said = {server: instructions} if instructions else {}
    return Contents(opened.name, opened.config.description, {server: texts}, 1, said, opened.notes.get(server, ()))


def _tool(toolbox: str, server: str, tools: ToolList, name: str) -> JSONObject:
    if name not in tools:
        raise UnknownTool(
            f"Tool '{name}' not found in server '{server}' (toolbox '{toolbox}')" + closest(name, tools.names, "tool")
        )
    return next(tool for tool in tools.raw if tool["name"] == name)


@dataclass(frozen=True)
class Listing:
    """An answer to `open_toolbox`, and the form in which it shows each server's tools."""

    text: str
    forms: Mapping[str, Form]


def write_listing(contents: Contents, form: Form, limit: int) -> Listing:
    """The listing in this form, or where it is longer than the limit in as short a form as it takes."""
    draft = _Draft(contents, form, limit)
    draft.shorten()
    return Listing(draft.text(), dict(draft.forms))


class _Draft:
    """A listing that is being shortened until it fits."""

    def __init__(self, contents: Contents, form: Form, limit: int) -> None:
        self.forms = dict.fromkeys(contents.servers, form)
        self._contents = contents
        self._wanted = form
        self._limit = limit
        self._description = contents.description
        self._instructions = {
            server: text if len(text) <= LONGEST_INSTRUCTIONS else text[: LONGEST_INSTRUCTIONS - 1] + "…"
            for server, text in contents.instructions.items()
        }
        self._notes = list(contents.notes)
        self._errors = list(contents.errors)
        self._some_names: dict[str, tuple[str, int]] = {}

    def text(self) -> str:
        """The answer as it stands."""
        return self._around(",".join(filter(None, map(self._tools, self.forms))))

    def shorten(self) -> None:
        """Take away as little as it takes, in the order of what a model can do without."""
        for form in (form for form in Form if form > self._wanted):
            for server in self._largest_first():
                if self._fits():
                    return
                self.forms[server] = form
        if not self._fits():
            self._shorten_the_rest()

    def _shorten_the_rest(self) -> None:
        """Names alone are too long, or what stands around them is."""
        self._instructions = {server: compact.first_sentence(text) for server, text in self._instructions.items()}
        if self._fits():
            return
        self._description = compact.first_sentence(self._description)
        self._notes = _some([note[:_SHORT] for note in self._notes], self._limit // 4)
        self._errors = _some([error[:_SHORT] for error in self._errors], self._limit // 4)
        if not self._fits() and self._instructions:
            self._notes.append(f"The instructions of {_named(list(self._instructions))} are left out.")
            self._instructions = {}
        self._share_out_the_room()

    def _share_out_the_room(self) -> None:
        """Give every server the same room for its names, and what one does not need to those that do."""
        room = self._limit - len(self._around("")) - 2 * _SHORT
        smallest_first = self._largest_first()[::-1]
        for position, server in enumerate(smallest_first):
            share = room // (len(smallest_first) - position)
            if len(self._tools(server)) >= share:
                self._some_names[server] = self._contents.servers[server].some_names(share)
            room -= len(self._tools(server)) + 1

    def _around(self, tools: str) -> str:
        head: JSONObject = {
            "toolbox": self._contents.toolbox,
            "description": self._description,
            "servers_connected": self._contents.connected,
        }
        if notes := self._all_notes():
            head["_notes"] = notes
        if self._instructions:
            head["_instructions"] = self._instructions
        errors = f',"_errors":{codec.compact(self._errors)}' if self._errors else ""
        return f'{codec.compact(head)[:-1]},"tools":[{tools}]{errors}}}'

    def _fits(self) -> bool:
        tools = sum(len(self._tools(server)) + 1 for server in self.forms)
        # What stands around them takes longer to write than to add up, and is mostly needless to know.
        return tools <= self._limit and tools + len(self._around("")) <= self._limit

    def _largest_first(self) -> list[str]:
        return sorted(self.forms, key=lambda server: -len(self._tools(server)))

    def _tools(self, server: str) -> str:
        if server in self._some_names:
            return self._some_names[server][0]
        return self._contents.servers[server].text(self.forms[server])

    # What the answer says about itself.

    def _all_notes(self) -> list[str]:
        notes = list(self._notes)
        if any(form is not Form.FULL for form in self.forms.values()):
            notes.append(self._how_to_call())
        if shortened := self._shortened():
            notes.append(shortened)
        if self._some_names:
            missing = sum(missing for _, missing in self._some_names.values())
            notes.append(f"{missing:,} tools of {_named(list(self._some_names))} are not even named: too little room.")
        return notes

    def _how_to_call(self) -> str:
        toolbox = self._contents.toolbox
        call = codec.compact({"tool": {"toolbox": toolbox, "server": "SOURCE_SERVER", "tool": "NAME"}, "arguments": {}})
        return (
            f"Tools are listed as NAME(PARAMETERS): DESCRIPTION; call one with use_tool, {call}, and see its whole "
            f"schema and description with open_toolbox, toolbox_name '{toolbox}/SOURCE_SERVER/NAME'. … marks a text "
            "that is cut, and tools of a server that share a parameter describe it once."
        )

    def _shortened(self) -> str:
        parts = [
            f"{_named(servers)} {how}"
            for form, how in _HOW.items()
            if form > self._wanted and (servers := [server for server, own in self.forms.items() if own is form])
        ]
        if not parts:
            return ""
        return (
            f"To fit into {self._limit:,} characters, tools are listed in a shorter form: those of {'; '.join(parts)}. "
            f"open_toolbox with toolbox_name '{self._contents.toolbox}/SOURCE_SERVER' lists one server alone."
        )


def _some(texts: Sequence[str], room: int) -> list[str]:
    """The texts that there is room for, and how many there are beside them."""
    kept: list[str] = []
    for text in texts:
        room -= len(codec.compact(text)) + 1
        if room < 0:
            return [*kept, f"and {len(texts) - len(kept)} more"]
        kept.append(text)
    return kept


def _named(servers: Sequence[str]) -> str:
    names = ", ".join(f"'{compact.first_sentence(server, 60)}'" for server in servers[:_MOST_NAMED])
    rest = len(servers) - _MOST_NAMED
    return f"{names} and {rest} more servers" if rest > 0 else names
