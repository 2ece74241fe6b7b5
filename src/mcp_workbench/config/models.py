"""The config file as frozen models: the one description of what it may hold.

The models check values that are already expanded, and generate the JSON Schema that editors use. Their messages are
the ends of sentences that begin with a path ("must be a list of strings"), and quote no value.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from mcp_workbench.config.servers import OAuth, ReadServer, RemoteServer, ServerConfig, ServerEntry, StdioServer
from mcp_workbench.config.values import NAMED_ENTRIES, Description, FileObject, Name

__all__ = [
    "OAuth",
    "RemoteServer",
    "ServerConfig",
    "ServerEntry",
    "StdioServer",
    "ToolboxConfig",
    "WorkbenchConfig",
]


def _proxy(value: object) -> object:
    if value == "dynamic":
        raise ValueError("dynamic mode is no longer supported; remove this field")
    if value != "proxy":
        raise ValueError('must be "proxy", which is also what its absence means; remove this field')
    return value


class ToolboxConfig(FileObject):
    """A named group of servers that are opened together."""

    description: Description = Field(description="What this toolbox is for, in words that help a model choose it.")
    servers: Mapping[Name, ReadServer] = Field(
        validation_alias="mcpServers",
        serialization_alias="mcpServers",
        description="The servers of this toolbox by name.",
        json_schema_extra=NAMED_ENTRIES,
    )


class WorkbenchConfig(FileObject):
    """The config of the workbench: toolboxes of MCP servers."""

    toolboxes: Mapping[Name, ToolboxConfig] = Field(
        description="The toolboxes by name.", json_schema_extra=NAMED_ENTRIES
    )
    tool_mode: Annotated[Literal["proxy"], BeforeValidator(_proxy)] = Field(
        default="proxy",
        description="No longer needed: there is one mode. Remove this field.",
        json_schema_extra={"deprecated": True},
    )
