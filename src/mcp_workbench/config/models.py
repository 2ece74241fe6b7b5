"""The config file as frozen models: the one description of what it may hold.

The models check values that are already expanded, and generate the JSON Schema that editors use. Their messages are
the ends of sentences that begin with a path ("must be a list of strings"), and quote no value.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, WithJsonSchema
from pydantic.alias_generators import to_camel

from mcp_workbench.config.document import JsonFloat

_COMMENTS: dict[str, Any] = {"patternProperties": {"^(_|\\$schema$)": {}}}
_NAMED_ENTRIES: dict[str, Any] = {**_COMMENTS, "propertyNames": {"pattern": "\\S"}}


def _unicode(value: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("must be valid Unicode text (it holds half of a surrogate pair)")
    return value


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain a NUL character; no program can be started with one")
    return value


def _variable_name(value: str) -> str:
    if not value or "=" in value:
        raise ValueError("is not the name of an environment variable (it is empty or contains '=')")
    return value


def _as_json_text(value: object) -> object:
    """People write `"PORT": 3000`; a variable is text."""
    if isinstance(value, JsonFloat):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:
            seconds = math.inf
        if 0 < seconds < math.inf:
            return seconds
    raise ValueError("must be a positive number of seconds")


def _optional_seconds(value: object) -> float | None:
    return None if value is None else _seconds(value)


def _inherited(value: object) -> object:
    if isinstance(value, bool):
        return value
    names = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [None]
    if all(map(_is_variable_name, names)):
        return names
    raise ValueError("must be true, false or a list of variable names")


def _is_variable_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and "=" not in value and "\0" not in value


def _stdio(value: object) -> object:
    if value is None or value == "stdio":
        return value
    raise ValueError('must be "stdio"; only stdio servers are supported so far')


def _proxy(value: object) -> object:
    if value == "dynamic":
        raise ValueError("dynamic mode is no longer supported; remove this field")
    if value != "proxy":
        raise ValueError('must be "proxy", which is also what its absence means; remove this field')
    return value


Text = Annotated[str, AfterValidator(_unicode)]
Name = Annotated[Text, AfterValidator(_filled)]
Description = Annotated[Name, WithJsonSchema({"type": "string", "pattern": "\\S"})]
Argument = Annotated[Text, AfterValidator(_without_nul)]
Program = Annotated[Argument, AfterValidator(_filled), Field(min_length=1)]
VariableName = Annotated[Argument, AfterValidator(_variable_name)]
VariableValue = Annotated[
    Argument, BeforeValidator(_as_json_text), WithJsonSchema({"type": ["string", "number", "boolean"]})
]
Seconds = Annotated[float, Field(gt=0), BeforeValidator(_seconds)]
OptionalSeconds = Annotated[Annotated[float, Field(gt=0)] | None, BeforeValidator(_optional_seconds)]
Transport = Annotated[Literal["stdio"] | None, BeforeValidator(_stdio)]
InheritedEnvironment = Annotated[StrictBool | tuple[str, ...], BeforeValidator(_inherited)]


def _tidy_schema(schema: dict[str, Any]) -> None:
    """Allow comments, and drop the titles that pydantic makes of the keys."""
    schema.update(_COMMENTS)
    for value in schema["properties"].values():
        del value["title"]


def _server_schema(schema: dict[str, Any]) -> None:
    """A disabled server is not read, so it need not be complete."""
    _tidy_schema(schema)
    schema["if"] = {"properties": {"disabled": {"const": True}}, "required": ["disabled"]}
    schema["else"] = {"required": schema.pop("required")}


class _FileObject(BaseModel):
    """An object of the file; camelCase there, snake_case here."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, json_schema_extra=_tidy_schema
    )

    @classmethod
    def known_keys(cls) -> frozenset[str]:
        """The keys that the file may use for this object."""
        return frozenset(str(field.validation_alias or field.alias) for field in cls.model_fields.values())


class ServerConfig(_FileObject):
    """One downstream server: a standard `mcpServers` entry, and what the workbench adds to it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(json_schema_extra=_server_schema)

    command: Program = Field(description="The program that is the server, found on PATH or by its full path.")
    args: tuple[Argument, ...] = Field(default=(), repr=False, description="The arguments of the program.")
    env: Mapping[VariableName, VariableValue] = Field(
        default={}, repr=False, description="Environment variables for this server alone."
    )
    cwd: Program | None = Field(default=None, description="The directory that the server is started in.")
    tool_filters: tuple[Text, ...] | None = Field(
        default=None,
        description='The names of the tools to offer. Absent or containing "*": all of them; an empty list: none.',
    )
    transport: Transport = Field(default=None, description='How to talk to the server: "stdio", which is the default.')
    type: Transport = Field(default=None, description="The same as `transport`, as other clients spell it.")
    connect_timeout: Seconds = Field(
        default=30.0, description="Seconds that the server may take from its start to its list of tools."
    )
    call_timeout: OptionalSeconds = Field(
        default=None, description="Seconds that a call may take without progress. Absent: the client decides."
    )
    idle_timeout: OptionalSeconds = Field(
        default=None,
        description="Seconds without use after which the server is stopped until it is used again. Absent: never.",
    )
    inherit_env: InheritedEnvironment = Field(
        default=False,
        description="Which variables of the workbench's own environment the server gets: "
        "true for all, or a list of names. The basic ones (PATH, HOME, proxies, locale) it always gets.",
    )
    disabled: StrictBool = Field(default=False, description="Leave this server out.")

    def admits(self, tool: str) -> bool:
        """Whether the filter lets a tool of this name through."""
        return self.tool_filters is None or "*" in self.tool_filters or tool in self.tool_filters


class ToolboxConfig(_FileObject):
    """A named group of servers that are opened together."""

    description: Description = Field(description="What this toolbox is for, in words that help a model choose it.")
    servers: Mapping[Name, ServerConfig] = Field(
        validation_alias="mcpServers",
        serialization_alias="mcpServers",
        description="The servers of this toolbox by name.",
        json_schema_extra=_NAMED_ENTRIES,
    )


class WorkbenchConfig(_FileObject):
    """The config of the workbench: toolboxes of MCP servers."""

    toolboxes: Mapping[Name, ToolboxConfig] = Field(
        description="The toolboxes by name.", json_schema_extra=_NAMED_ENTRIES
    )
    tool_mode: Annotated[Literal["proxy"], BeforeValidator(_proxy)] = Field(
        default="proxy",
        description="No longer needed: there is one mode. Remove this field.",
        json_schema_extra={"deprecated": True},
    )
