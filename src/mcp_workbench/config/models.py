"""The config file as frozen models: the one description of what it may hold.

The models check values that are already expanded, and generate the JSON Schema that editors use. Their messages are
the ends of sentences that begin with a path ("must be a list of strings"), and quote no value.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, StrictBool

from mcp_workbench.config.servers import (
    DevelopmentMode,
    OAuth,
    OptionalToolChangePolicy,
    ReadServer,
    RemoteServer,
    ServerConfig,
    ServerEntry,
    StdioServer,
    ToolChangePolicy,
)
from mcp_workbench.config.values import (
    NAMED_ENTRIES,
    Description,
    FileObject,
    Name,
    OptionalCount,
    OptionalSwitch,
    Paths,
    Seconds,
    Text,
    VariableName,
    VariableValue,
    one_of,
)

__all__ = [
    "DevelopmentMode",
    "Input",
    "ListingStyle",
    "OAuth",
    "RemoteServer",
    "ServerConfig",
    "ServerEntry",
    "StdioServer",
    "ToolChangePolicy",
    "ToolboxConfig",
    "WorkbenchConfig",
]


ListingStyle: TypeAlias = Literal["full", "compact"]
_OptionalListingStyle = Annotated[ListingStyle | None, one_of("full", "compact")]


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
    listing: _OptionalListingStyle = Field(
        default=None,
        description='How open_toolbox lists the tools: "full" with their schemas, "compact" one line each. '
        "Absent: as the whole file has it.",
    )
    open_timeout: Seconds = Field(
        default=15.0,
        description="Seconds after which open_toolbox answers with the tools of the servers that are ready.",
    )
    read_only: OptionalSwitch = Field(
        default=None,
        description="Offer only tools that declare themselves read-only. Absent: as the whole file has it.",
    )
    on_tool_change: OptionalToolChangePolicy = Field(
        default=None,
        description="What to do about tools that changed since they were accepted. Absent: as the whole file has it.",
    )


class Input(FileObject):
    """A value that a person is asked for, as VS Code has them: `${input:id}` stands for it."""

    id: Name = Field(description="The name that ${input:…} uses.")
    type: Text | None = Field(default=None, description='"promptString" or "pickString"; both are asked for as text.')
    description: Text | None = Field(default=None, description="What the person is asked.")
    default: Text | None = Field(default=None, repr=False, description="The value when nothing else is given.")
    password: StrictBool = Field(default=False, description="Do not show what is typed.")
    options: tuple[object, ...] = Field(default=(), description="The values to choose from.")


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
    listing: Annotated[ListingStyle, one_of("full", "compact")] = Field(
        default="full",
        description='How open_toolbox lists the tools: "full" with their schemas, "compact" one line each.',
    )
    listing_limit: OptionalCount = Field(
        default=None,
        description="Characters that a listing may have before it is shortened. Absent: what the client can show.",
    )
    tool_search: StrictBool = Field(
        default=False, description="Offer a third tool, find_tools, that searches all tools."
    )
    auto_open: StrictBool = Field(
        default=False, description="Let use_tool connect a server whose toolbox is not open. Implied by toolSearch."
    )
    unset_variables: Annotated[Literal["fail", "skip"], one_of("fail", "skip")] = Field(
        default="fail",
        description='When a variable is not set: "fail" does not start, "skip" leaves out the servers that need it.',
    )
    on_tool_change: Annotated[ToolChangePolicy, one_of("warn", "block", "allow")] = Field(
        default="warn",
        description='What to do about tools that changed since they were accepted: "warn" says so, "block" hides them '
        'until they are accepted, "allow" says nothing.',
    )
    read_only: StrictBool = Field(default=False, description="Offer only tools that declare themselves read-only.")
    log_arguments: StrictBool = Field(
        default=False, description="Write the arguments and results of calls into the log file."
    )
    reload: StrictBool = Field(default=True, description="Take over changes of the config while serving.")
    env: Mapping[VariableName, VariableValue] = Field(
        default={},
        repr=False,
        description="Environment variables for every server that is a program; a server's own env wins.",
    )
    env_file: Paths = Field(
        default=(),
        description="Files in dotenv format, relative to this one, for ${NAME} to draw on: one name or a list.",
    )
    inputs: tuple[Input, ...] = Field(default=(), description="Values that a person is asked for, as in VS Code.")

    @property
    def opens_by_itself(self) -> bool:
        """Whether `use_tool` may connect a server of a toolbox that is not open."""
        return self.auto_open or self.tool_search

    def listing_of(self, toolbox: str) -> ListingStyle:
        """How the tools of a toolbox are listed."""
        return self.toolboxes[toolbox].listing or self.listing

    def is_read_only(self, toolbox: str, server: str) -> bool:
        """Whether only the tools of a server that declare themselves read-only are offered: the nearest word counts."""
        box = self.toolboxes[toolbox]
        nearest = (box.servers[server].read_only, box.read_only, self.read_only)
        return next(word for word in nearest if word is not None)

    def tool_change_policy(self, toolbox: str, server: str) -> ToolChangePolicy:
        """What to do about changed tools of a server: the nearest word counts."""
        box = self.toolboxes[toolbox]
        return box.servers[server].on_tool_change or box.on_tool_change or self.on_tool_change
