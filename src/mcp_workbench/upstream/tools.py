"""The tools that the workbench offers, as `tools/list` shows them; made from the config as it is at that moment."""

from mcp_workbench.config.models import WorkbenchConfig
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.upstream.instructions import FIND, open_toolbox_description, use_tool_description
from mcp_workbench.upstream.parameters import FIND_TOOLS_SCHEMA, OPEN_TOOLBOX_SCHEMA, USE_TOOL_SCHEMA

LONGEST_RESULT = 500_000

_META: JSONObject = {
    "anthropic/alwaysLoad": True,  # or Claude Code defers them, and a model must search for what lists the tools
    "anthropic/maxResultSizeChars": LONGEST_RESULT,  # instead of about 50,000
}
"""For clients that read it; others ignore what they do not know."""


_FIND_TOOLS: JSONObject = {
    "name": "find_tools",
    "description": FIND,
    "inputSchema": FIND_TOOLS_SCHEMA,
    "annotations": {"title": "Find tools", "readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    "_meta": _META,
}


def offered_tools(config: WorkbenchConfig) -> list[JSONObject]:
    """Every tool that the workbench offers with this config."""
    return [_open_toolbox(config), *([_FIND_TOOLS] if config.tool_search else []), _use_tool(config)]


def _open_toolbox(config: WorkbenchConfig) -> JSONObject:
    return {
        "name": "open_toolbox",
        "description": open_toolbox_description(config.toolboxes),
        "inputSchema": OPEN_TOOLBOX_SCHEMA,
        "annotations": {
            "title": "Open a toolbox",
            "readOnlyHint": True,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "_meta": _META,
    }


def _use_tool(config: WorkbenchConfig) -> JSONObject:
    return {
        "name": "use_tool",
        "description": use_tool_description(opens_by_itself=config.opens_by_itself),
        "inputSchema": USE_TOOL_SCHEMA,
        "annotations": {"title": "Use a tool of an open toolbox"},
        "_meta": _META,
    }
