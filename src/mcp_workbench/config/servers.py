"""A server's entry in the config: a program to start, or an address to connect to.

What is common to both is in `ServerEntry`. What differs between them is a method or a property here, so that nobody
else has to ask which kind an entry is in order to name it.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from pydantic import (
    AliasChoices,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    StrictBool,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema

from mcp_workbench.config.concealing import conceal_arguments, conceal_url
from mcp_workbench.config.document import Json
from mcp_workbench.config.filters import ToolFilters, compiled
from mcp_workbench.config.start_values import commands_in, filled, spelled
from mcp_workbench.config.values import (
    Argument,
    FileObject,
    Headers,
    InheritedEnvironment,
    Name,
    OptionalSeconds,
    OptionalSwitch,
    Paths,
    Port,
    Program,
    Scopes,
    Seconds,
    Text,
    VariableName,
    VariableValue,
    WebAddress,
    one_of,
    tidy_schema,
)

URL_KEYS = ("url", "serverUrl", "httpUrl")
"""How clients spell the address of a remote server; the first is ours."""

_REMOTE_TRANSPORTS = {"http": "http", "streamable-http": "http", "streamableHttp": "http", "sse": "sse"}

ToolChangePolicy: TypeAlias = Literal["warn", "block", "allow"]
OptionalToolChangePolicy = Annotated[ToolChangePolicy | None, one_of("warn", "block", "allow")]


def _server_schema(schema: dict[str, Any]) -> None:
    """A disabled server is not read, so it need not be complete."""
    tidy_schema(schema)
    required = schema.pop("required")
    schema["if"] = {"properties": {"disabled": {"const": True}}, "required": ["disabled"]}
    needed: dict[str, Any] = {"required": required}
    schema["else"] = {"anyOf": [{"required": [key]} for key in URL_KEYS]} if "url" in required else needed


class DevelopmentMode(FileObject):
    """Restarting a server whenever its sources change."""

    watch: tuple[Name, ...] = Field(description="Patterns of the files to watch, such as src/**/*.py.", min_length=1)
    cwd: Program | None = Field(
        default=None, description="The directory that the patterns start from. Absent: that of the server."
    )


class OAuth(FileObject):
    """What a login at a remote server needs beyond what the server says itself."""

    client_id: Name | None = Field(default=None, description="The id that the workbench is registered under.")
    client_secret: Name | None = Field(
        default=None, repr=False, description="The secret of that registration; take it from a variable."
    )
    scopes: Scopes = Field(default=(), description="The permissions to ask for: a list, or one text with spaces.")
    callback_port: Port = Field(
        default=None, description="The port of this machine that the login comes back to. Absent: any free one."
    )
    grant: Annotated[Literal["client_credentials"] | None, one_of("client_credentials")] = Field(
        default=None, description='"client_credentials" logs in as a program, without a person. Absent: as a person.'
    )

    @model_validator(mode="after")
    def _is_complete(self) -> "OAuth":
        if self.client_secret is not None and self.client_id is None:
            raise ValueError("clientSecret needs a clientId beside it")
        if self.grant and not self.client_secret:
            raise ValueError('the grant "client_credentials" needs a clientId and a clientSecret')
        return self


class ServerEntry(FileObject):
    """What the entry of any server may say."""

    model_config: ClassVar[ConfigDict] = ConfigDict(json_schema_extra=_server_schema)

    tool_filters: tuple[Text, ...] | None = Field(
        default=None,
        description="The tools to offer, by name or pattern (* any text, ? one character); !pattern leaves some out. "
        "Absent: all of them; an empty list: none.",
    )
    read_only: OptionalSwitch = Field(
        default=None,
        description="Offer only tools that declare themselves read-only. Absent: as the toolbox has it.",
    )
    on_tool_change: OptionalToolChangePolicy = Field(
        default=None,
        description="What to do about tools that changed since they were accepted. Absent: as the toolbox has it.",
    )
    dev: DevelopmentMode | None = Field(
        default=None, description="Has no effect yet: restart the server when its sources change."
    )
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
    disabled: StrictBool = Field(default=False, description="Leave this server out.")

    # Why the server cannot be started: a variable of its entry is not set, for example.
    _unavailable: str | None = PrivateAttr(default=None)

    # The entry as the file has it, before variables were filled in. Empty if it came from no file.
    _written: Mapping[str, Json] = PrivateAttr(default_factory=dict[str, "Json"])

    def __eq__(self, other: object) -> bool:
        """Whether two entries mean the same, however the file spells them."""
        return (
            isinstance(other, ServerEntry)
            and type(self) is type(other)
            and (self.__dict__, self._unavailable) == (other.__dict__, other._unavailable)
        )

    def admits(self, tool: str) -> bool:
        """Whether the filter lets a tool of this name through."""
        return self.filters.admits(tool)

    @property
    def filters(self) -> ToolFilters:
        """The `toolFilters` of the entry, ready for use."""
        return compiled(self.tool_filters)

    def remember_spelling(self, written: Mapping[str, Json]) -> None:
        """Keep the entry as the file spells it: what `identity` names must not depend on the values of variables."""
        self._written = written

    @property
    def unavailable(self) -> str | None:
        """Why the server cannot be started, for one whose entry lacks the value of a variable."""
        return self._unavailable

    def make_unavailable(self, reason: str) -> None:
        """Keep the reason why the server cannot be started."""
        self._unavailable = reason

    @property
    def commands(self) -> frozenset[str]:
        """The commands that must run before the server can start: those of `${cmd: …}`."""
        return commands_in(self.model_dump(by_alias=True, exclude_unset=True))

    def with_outputs(self, outputs: Mapping[str, str]) -> Self:
        """The entry with what its commands have printed.

        Raises:
            ValidationError: What they printed cannot stand where it should.
        """
        entry = type(self).model_validate(filled(self.model_dump(by_alias=True, exclude_unset=True), outputs))
        entry.remember_spelling(self._written)
        return entry

    def describe(self) -> str:
        """What starts the server, for people; secrets that are recognisable as such are hidden.

        Values of variables that do not look like secrets are shown: what is printed passes a `Redactor` too.
        """
        raise NotImplementedError

    def identity(self) -> str:
        """What starts the server, as a text that is the same tomorrow and with other values of its variables.

        It holds neither the value of a variable nor anything that looks like a secret, so it may be written to disk and
        hashed: there is nothing in it to guess.
        """
        raise NotImplementedError

    def own_secrets(self) -> frozenset[str]:
        """The values of the entry that are secret because of where they stand."""
        raise NotImplementedError

    def _as_written(self, key: str, value: Any, absent: Any = None) -> Any:
        return self._written.get(key, absent) if self._written else value


class StdioServer(ServerEntry):
    """A server that is a program: a standard `mcpServers` entry, and what the workbench adds to it."""

    command: Program = Field(description="The program that is the server, found on PATH or by its full path.")
    args: tuple[Argument, ...] = Field(default=(), repr=False, description="The arguments of the program.")
    env: Mapping[VariableName, VariableValue] = Field(
        default={},
        repr=False,
        description="Environment variables for this server alone; null takes one from the workbench's environment.",
    )
    env_file: Paths = Field(
        default=(), description="Files in dotenv format, with variables for this server alone: one name or a list."
    )
    cwd: Program | None = Field(default=None, description="The directory that the server is started in.")
    transport: Literal["stdio"] | None = Field(
        default=None, description='How to talk to the server: "stdio", which is the default.'
    )
    type: Literal["stdio"] | None = Field(
        default=None, description="The same as `transport`, as other clients spell it."
    )
    inherit_env: InheritedEnvironment = Field(
        default=False,
        description="Which variables of the workbench's own environment the server gets: "
        "true for all, or a list of names. The basic ones (PATH, HOME, proxies, locale) it always gets.",
    )

    @field_validator("transport", "type", mode="before")
    @classmethod
    def _is_stdio(cls, value: object) -> object:
        if value is None or value == "stdio":
            return value
        if isinstance(value, str) and value in _REMOTE_TRANSPORTS:
            raise ValueError("is for a server with a 'url', and this one has none")
        raise ValueError('must be "stdio"; for a server with a \'url\', "http" or "sse"')

    def describe(self) -> str:
        """The command line, without the arguments that look like secrets."""
        return shlex.join([spelled(self.command), *conceal_arguments([spelled(arg) for arg in self.args])])

    def identity(self) -> str:
        """The command line as the file spells it, its directory and the names of its variables."""
        args = cast("Sequence[object]", self._as_written("args", self.args, ()))
        parts = [
            self._as_written("command", self.command),
            *conceal_arguments([str(arg) for arg in args]),
            self._as_written("cwd", self.cwd),
            sorted(self._as_written("env", self.env, ())),
        ]
        return json.dumps(parts, ensure_ascii=False)

    def own_secrets(self) -> frozenset[str]:
        """The values of its `env`."""
        return frozenset(self.env.values())


class RemoteServer(ServerEntry):
    """A server that is reached over HTTP."""

    url: WebAddress = Field(
        validation_alias=AliasChoices(*URL_KEYS),
        serialization_alias="url",
        repr=False,
        description="The address of the server.",
    )
    headers: Headers = Field(
        default={}, repr=False, description="HTTP headers for every request; their values are secrets."
    )
    transport: Literal["http", "streamable-http", "streamableHttp", "sse"] | None = Field(
        default=None,
        description='How to talk to the server: "http" is streamable HTTP, "sse" its predecessor. Absent: found out.',
    )
    type: Literal["http", "streamable-http", "streamableHttp", "sse"] | None = Field(
        default=None, description="The same as `transport`, as other clients spell it."
    )
    allow_insecure: StrictBool = Field(
        default=False, description="Send headers and tokens over plain HTTP to another machine, for all to read."
    )
    oauth: OAuth | None = Field(default=None, description="What a login needs beyond what the server says itself.")

    @field_validator("transport", "type", mode="before")
    @classmethod
    def _is_remote(cls, value: object, info: ValidationInfo) -> object:
        if value is not None and not (isinstance(value, str) and value in _REMOTE_TRANSPORTS):
            raise ValueError('must be "http" or "sse" beside a \'url\'')
        beside = info.data.get("transport")
        if value is not None and beside is not None and _REMOTE_TRANSPORTS[beside] != _REMOTE_TRANSPORTS[value]:
            raise ValueError("contradicts 'transport' beside it; remove one of them")
        return value

    @property
    def kind(self) -> Literal["http", "sse"] | None:
        """The transport that the entry asks for; None when it is to be found out."""
        name = self.transport or self.type
        return None if name is None else cast('Literal["http", "sse"]', _REMOTE_TRANSPORTS[name])

    def describe(self) -> str:
        """The address without user, password, values of the query and parts of the path that look like secrets."""
        return conceal_url(spelled(self.url))

    def identity(self) -> str:
        """The address as the file spells it, and the names of its headers."""
        written = next((self._written[key] for key in URL_KEYS if key in self._written), self.url)
        names = sorted(self._as_written("headers", self.headers, ()))
        return json.dumps([conceal_url(str(written)), names], ensure_ascii=False)

    def own_secrets(self) -> frozenset[str]:
        """The values of its headers, and what stands as user and password in its address or its login."""
        parts = urlsplit(self.url)
        login = [self.oauth.client_secret] if self.oauth else []
        userinfo = [form for part in (parts.username, parts.password) if part for form in (part, unquote(part))]
        # "Bearer x" is sent as a whole, but x alone is what others may quote.
        credentials = [value.rpartition(" ")[2] for value in self.headers.values()]
        return frozenset(filter(None, (*self.headers.values(), *credentials, *userinfo, *login)))


def _kind_of_entry(value: object) -> str:
    if isinstance(value, dict):
        return "remote" if any(key in value for key in URL_KEYS) else "stdio"
    return "remote" if isinstance(value, RemoteServer) else "stdio"


class _SchemaByKey:
    """For editors: what has a `url` is checked as a remote server, everything else as a program."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        stdio, remote = handler(core_schema)["oneOf"]
        return {"if": {"anyOf": [{"required": [key]} for key in URL_KEYS]}, "then": remote, "else": stdio}


ServerConfig: TypeAlias = StdioServer | RemoteServer
"""The entry of a server, of either kind."""

ReadServer = Annotated[
    Annotated[StdioServer, Tag("stdio")] | Annotated[RemoteServer, Tag("remote")],
    Discriminator(_kind_of_entry),
    _SchemaByKey,
]
"""The same, as the models read it: by what it has, so that problems speak of one kind only."""
