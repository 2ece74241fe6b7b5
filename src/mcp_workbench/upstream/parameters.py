"""The arguments of the tools: their schemas, and the sentences for arguments that do not fit them.

Models and clients bend arguments in known ways: an object sent as text, a key that a client adds to every tool, a whole
call wrapped into its own arguments. What is meant is certain in each of these, so it is understood; anything else that
does not fit is refused.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from mcp_workbench.errors import InvalidParameters, InvalidToolIdentifier
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes.manager import ToolReference
from mcp_workbench.toolboxes.offers import MOST, USUAL, Query

OPEN_TOOLBOX_SCHEMA: JSONObject = {
    "type": "object",
    "properties": {
        "toolbox_name": {
            "type": "string",
            "minLength": 1,
            "description": "Name of the toolbox to open, exactly as it is listed. NAME/SERVER and NAME/SERVER/TOOL "
            "list one server or one tool alone, with its whole schema.",
        }
    },
    "required": ["toolbox_name"],
    "additionalProperties": False,
}

USE_TOOL_SCHEMA: JSONObject = {
    "type": "object",
    "properties": {
        "tool": {
            "type": "object",
            "description": "Which tool to invoke.",
            "properties": {
                "toolbox": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The toolbox: toolbox_name of the tool's entry.",
                },
                "server": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The server in that toolbox: source_server of the tool's entry.",
                },
                "tool": {"type": "string", "minLength": 1, "description": "The tool: name of its entry."},
            },
            "required": ["toolbox", "server", "tool"],
            "additionalProperties": False,
        },
        "arguments": {
            "type": "object",
            "default": {},
            # What is true anyway is said here, or pydantic-ai tells OpenAI's models that there are no arguments.
            "additionalProperties": True,
            "description": "The tool's own arguments, an object that fits its inputSchema.",
        },
    },
    "required": ["tool"],
    "additionalProperties": False,
}

FIND_TOOLS_SCHEMA: JSONObject = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "description": "What the tool should do, in a few words.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST,
            "default": USUAL,
            "description": "How many tools to return at the most.",
        },
        "toolbox_name": {
            "type": "string",
            "minLength": 1,
            "description": "The only toolbox to search. Absent: all of them.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}

CLIENT_KEYS = {
    "wait_for_previous": "Gemini CLI adds it to the schema of every tool, for its own scheduler, and sends it along",
}
"""Keys that clients add to the arguments of any tool, with where that was seen. They are dropped, at our own level."""


def parse_open_toolbox(arguments: object) -> str:
    """The name of the toolbox to open.

    Raises:
        InvalidParameters: The arguments do not fit.
    """
    given = _object({} if arguments is None else arguments, "arguments")
    _only(given, ("toolbox_name",), *CLIENT_KEYS)
    name = given.get("toolbox_name")
    if name is None:
        raise InvalidParameters('toolbox_name is required. Call open_toolbox with {"toolbox_name": "NAME"}.')
    return _filled(name, "toolbox_name")


def parse_use_tool(arguments: object) -> tuple[ToolReference, JSONObject]:
    """The tool to call, and its arguments.

    Raises:
        InvalidParameters: The arguments do not fit.
        InvalidToolIdentifier: A part of `tool` does not.
    """
    given = _object({} if arguments is None else arguments, "arguments")
    _only(given, ("tool", "arguments"), *CLIENT_KEYS)
    if given.get("tool") is None:
        raise InvalidParameters(
            'tool is required: {"toolbox": "NAME", "server": "SERVER", "tool": "TOOL"}, as open_toolbox listed it'
        )
    tool = _object(given["tool"], "tool")
    _only(tool, ("toolbox", "server", "tool"))
    reference = ToolReference(*(_part(tool, part) for part in ("toolbox", "server", "tool")))
    own = given.get("arguments")
    return reference, {} if own is None else _unwrapped(_object(own, "arguments"), tool)


def parse_find_tools(arguments: object) -> Query:
    """What is looked for.

    Raises:
        InvalidParameters: The arguments do not fit.
    """
    given = _object({} if arguments is None else arguments, "arguments")
    _only(given, ("query", "limit", "toolbox_name"), *CLIENT_KEYS)
    if given.get("query") is None:
        raise InvalidParameters('query is required. Call find_tools with {"query": "WORDS"}.')
    toolbox = given.get("toolbox_name")
    return Query(
        _filled(given["query"], "query"),
        _limit(given.get("limit")),
        None if toolbox is None else _filled(toolbox, "toolbox_name"),
    )


def _filled(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidParameters(f"{name} must be a string")
    if not value.strip():
        raise InvalidParameters(f"{name} cannot be empty")
    return value


def _limit(value: object) -> int:
    if value is None:
        return USUAL
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(1, MOST + 1):
        raise InvalidParameters(f"limit must be a whole number from 1 to {MOST}")
    return int(value)


def _unwrapped(own: JSONObject, tool: JSONObject) -> JSONObject:
    """The tool's own arguments, where a client has put the whole call into them: Semantic Kernel does."""
    if own.keys() != {"tool", "arguments"} or _decoded(own["tool"]) != tool:
        return own
    inner = _decoded(own["arguments"])
    return cast(JSONObject, inner) if isinstance(inner, dict) else own


def _part(tool: Mapping[str, Any], part: str) -> str:
    value = tool.get(part)
    if value is None:
        raise InvalidToolIdentifier(f"{part} is required")
    if not isinstance(value, str):
        raise InvalidToolIdentifier(f"{part} must be a string")
    if not value.strip():
        raise InvalidToolIdentifier(f"{part} cannot be empty")
    return value


def _only(given: Mapping[str, Any], known: tuple[str, ...], *dropped: str) -> None:
    for key in given:
        if key not in known and key not in dropped:
            raise InvalidParameters(f"Unrecognized key: '{key}'. Known: {', '.join(known)}.")


def _object(value: object, name: str) -> JSONObject:
    """An object; models sometimes send one as text."""
    decoded = _decoded(value)
    if not isinstance(decoded, dict):
        raise InvalidParameters(f"{name} must be an object")
    given = cast(JSONObject, decoded)
    if isinstance(value, str) and codec.is_too_deep(given):  # what was no text was looked at with its message
        raise InvalidParameters(f"{name} must not be nested more than {codec.MAX_DEPTH} levels deep")
    return given


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
