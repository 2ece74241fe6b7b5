"""The arguments of the two tools: their schemas, and the sentences for arguments that do not fit them."""

import json
from collections.abc import Mapping
from typing import Any, cast

from mcp_workbench.errors import InvalidParameters, InvalidToolIdentifier
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes.manager import ToolReference

OPEN_TOOLBOX_SCHEMA: JSONObject = {
    "type": "object",
    "properties": {
        "toolbox_name": {
            "type": "string",
            "minLength": 1,
            "description": "Name of the toolbox to open, exactly as it is listed.",
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
            "description": "The tool's own arguments, an object that fits its inputSchema.",
        },
    },
    "required": ["tool"],
    "additionalProperties": False,
}


def parse_open_toolbox(arguments: object) -> str:
    """The name of the toolbox to open.

    Raises:
        InvalidParameters: The arguments do not fit.
    """
    given = _object({} if arguments is None else arguments, "arguments")
    _only(given, ("toolbox_name",))
    name = given.get("toolbox_name")
    if name is None:
        raise InvalidParameters('toolbox_name is required. Call open_toolbox with {"toolbox_name": "NAME"}.')
    if not isinstance(name, str):
        raise InvalidParameters("toolbox_name must be a string")
    if not name.strip():
        raise InvalidParameters("toolbox_name cannot be empty")
    return name


def parse_use_tool(arguments: object) -> tuple[ToolReference, JSONObject]:
    """The tool to call, and its arguments.

    Raises:
        InvalidParameters: The arguments do not fit.
        InvalidToolIdentifier: A part of `tool` does not.
    """
    given = _object({} if arguments is None else arguments, "arguments")
    _only(given, ("tool", "arguments"))
    if given.get("tool") is None:
        raise InvalidParameters(
            'tool is required: {"toolbox": "NAME", "server": "SERVER", "tool": "TOOL"}, as open_toolbox listed it'
        )
    tool = _object(given["tool"], "tool")
    _only(tool, ("toolbox", "server", "tool"))
    reference = ToolReference(*(_part(tool, part) for part in ("toolbox", "server", "tool")))
    own = given.get("arguments")
    return reference, {} if own is None else _object(own, "arguments")


def _part(tool: Mapping[str, Any], part: str) -> str:
    value = tool.get(part)
    if value is None:
        raise InvalidToolIdentifier(f"{part} is required")
    if not isinstance(value, str):
        raise InvalidToolIdentifier(f"{part} must be a string")
    if not value.strip():
        raise InvalidToolIdentifier(f"{part} cannot be empty")
    return value


def _only(given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            raise InvalidParameters(f"Unrecognized key: '{key}'. Known: {', '.join(known)}.")


def _object(value: object, name: str) -> JSONObject:
    """An object; models sometimes send one as text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, dict):
        raise InvalidParameters(f"{name} must be an object")
    return cast(JSONObject, value)
