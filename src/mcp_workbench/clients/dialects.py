"""The entries of different clients, said in one way: with the keys that the workbench's own entries have.

Only the shape changes here. Variables and secrets in the texts are left as they stand, for `entries` to translate. A
key that means nothing to the workbench is named, so that nobody has to wonder where it went.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from mcp_workbench.clients.bridges import native
from mcp_workbench.config.document import Json
from mcp_workbench.config.models import RemoteServer, StdioServer
from mcp_workbench.config.servers import URL_KEYS
from mcp_workbench.errors import WorkbenchError

_INCLUDE = ("includeTools", "enabledTools", "enabled_tools", "allowedTools")
_EXCLUDE = ("excludeTools", "disabledTools", "disabled_tools")
# What a client does without asking its user. Here nothing is asked: that stays between the client and its user.
_APPROVALS = frozenset(
    {"alwaysAllow", "autoApprove", "trust", "default_tools_approval_mode", "supports_parallel_tool_calls"}
)
# What a client notes for itself.
_BOOKKEEPING = frozenset(
    {"name", "description", "source", "gallery", "version", "registry", "fromGalleryId", "transportType", "required"}
)
_TRANSPORTS: Mapping[str, str | None] = {
    "stdio": None,
    "local": None,
    "remote": None,
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_MILLISECONDS = frozenset({"claude-code", "gemini-cli", "lm-studio"})
_SHORTEST_START = 30
"""Seconds: the workbench's own limit for a start. A shorter one would only make slow first downloads fail."""
_OURS = StdioServer.known_keys() | RemoteServer.known_keys()


class NotTakenOver(WorkbenchError):
    """An entry that cannot become a server of a toolbox; the sentence says why."""


@dataclass
class Common:
    """An entry in the workbench's own keys, and what could not be said in them."""

    content: dict[str, Json]
    notes: list[str] = field(default_factory=list[str])


def common_entry(client_id: str, entry: Json) -> Common:
    """Return what an entry of a client says.

    Raises:
        NotTakenOver: It is not an entry that this client or any other could start.
    """
    if not isinstance(entry, dict):
        raise NotTakenOver("it is not a JSON object")
    match client_id:
        case "codex":
            entry = _from_codex(entry)
        case "opencode":
            entry = _from_opencode(entry)
        case "zed":
            entry = _from_zed(entry)
        case "gemini-cli":
            entry = cast("dict[str, Json]", _with_braces(entry))
        case _:
            pass
    return _common(client_id, entry)


def _common(client_id: str, source: dict[str, Json]) -> Common:
    said = _Said(dict(source))
    content = _address(said) if _is_remote(said) else _program(said)
    said.drop("transport", "type")
    if (filters := _filters(said)) is not None:
        content["toolFilters"] = filters
    content |= _timeouts(said, client_id)
    content |= _switches(said)
    content |= _development(said)
    content |= {key: said.take(key) for key in sorted(said.rest.keys() & _OURS)}
    changed, notes = native(content)
    return Common(changed, [*said.notes, *notes, *_left_out(said)])


class _Said:
    """The keys of an entry that nobody has looked at yet."""

    def __init__(self, rest: dict[str, Json]) -> None:
        self.rest = rest
        self.notes: list[str] = []

    def take(self, *keys: str) -> Json:
        """Return the first of these keys that says something; all of them have been looked at then."""
        values = [self.rest.pop(key) for key in keys if key in self.rest]
        return next((value for value in values if value is not None), None)

    def drop(self, *keys: str) -> None:
        for key in keys:
            self.rest.pop(key, None)


def _is_remote(said: _Said) -> bool:
    kind = said.rest.get("type", said.rest.get("transport"))
    if kind is not None and (not isinstance(kind, str) or kind not in _TRANSPORTS):
        raise NotTakenOver(f"it is reached by {kind!r}, and the workbench knows stdio, http and sse")
    address = any(isinstance(said.rest.get(key), str) for key in URL_KEYS)
    return address and (kind != "stdio" or "command" not in said.rest)


def _address(said: _Said) -> dict[str, Json]:
    kind = said.rest.get("type", said.rest.get("transport"))
    transport = "http" if kind is None and "httpUrl" in said.rest else _TRANSPORTS[str(kind)] if kind else None
    content: dict[str, Json] = {"url": said.take("httpUrl", *URL_KEYS)}
    if transport:
        content["transport"] = transport
    if headers := said.take("headers"):
        content["headers"] = headers
    if login := _login(said):
        content["oauth"] = login
    if "headersHelper" in said.rest:
        said.drop("headersHelper")
        said.notes.append("headersHelper is not run here: write its header as ${cmd: command} into headers")
    return content


def _program(said: _Said) -> dict[str, Json]:
    command = said.take("command")
    if not isinstance(command, str) or not command.strip():
        raise NotTakenOver("it has no command")
    said.drop(*URL_KEYS)
    content: dict[str, Json] = {"command": command}
    return content | {key: value for key in ("args", "env", "envFile", "cwd") if (value := said.take(key)) is not None}


def _filters(said: _Said) -> Json:
    """The tools to offer: first what is let in, then what is left out, as every client has it."""
    if "toolFilters" in said.rest:
        return said.take("toolFilters")
    included = said.take(*_INCLUDE)
    excluded = _texts(said.take(*_EXCLUDE))
    if not isinstance(included, list) and not excluded:
        return None
    # Gemini CLI lets a tool be named with arguments, `run(git)`: here a tool is let in or not.
    inside = [name.partition("(")[0] for name in _texts(included)]
    if isinstance(included, list) and not inside:
        return []
    return [*dict.fromkeys(inside), *(f"!{name}" for name in dict.fromkeys(excluded))]


def _timeouts(said: _Said, client_id: str) -> dict[str, Json]:
    start = _seconds(said.take("startup_timeout_sec")) or _seconds(said.take("startup_timeout_ms"), 1000)
    call = _seconds(said.take("tool_timeout_sec"))
    if client_id == "opencode":  # there it is how long the list of tools may take
        start = start or _seconds(said.take("timeout"), 1000)
    elif client_id in _MILLISECONDS:
        call = call or _seconds(said.take("timeout"), 1000)
    elif client_id == "cline":
        call = call or _seconds(said.take("timeout"))
    timeouts: dict[str, Json] = {"connectTimeout": start} if start and start > _SHORTEST_START else {}
    return {**timeouts, "callTimeout": call} if call and call >= 1 else timeouts


def _switches(said: _Said) -> dict[str, Json]:
    off = said.rest.get("disabled") is True or said.rest.get("enabled") is False or said.rest.get("isActive") is False
    said.drop("disabled", "enabled", "isActive")
    return {"disabled": True} if off else {}


def _development(said: _Said) -> dict[str, Json]:
    """VS Code restarts a server when these files change; how it debugs one is its own."""
    written = said.rest.get("dev")
    watched = written.get("watch") if isinstance(written, dict) else None
    if not watched:
        said.drop("dev")
        return {}
    said.drop("dev")
    return {"dev": {"watch": watched if isinstance(watched, list) else [watched]}}


def _login(said: _Said) -> dict[str, Json]:
    """How clients spell what a login needs; Cursor's is `auth`, in capitals."""
    written = said.take("oauth", "auth")
    if not isinstance(written, dict):
        return {}
    spelled = {re.sub("[^a-z]", "", key.lower()): value for key, value in written.items()}
    scopes = spelled.get("scopes", spelled.get("scope"))
    found: dict[str, Json] = {
        "clientId": spelled.get("clientid"),
        "clientSecret": spelled.get("clientsecret"),
        "scopes": scopes,
        "callbackPort": spelled.get("callbackport"),
    }
    return {key: value for key, value in found.items() if value}


def _left_out(said: _Said) -> list[str]:
    unknown = sorted(said.rest.keys() - _BOOKKEEPING - _APPROVALS)
    asked = sorted(said.rest.keys() & _APPROVALS)
    notes = [f"left out, as the workbench approves nothing, your client does: {', '.join(asked)}"] if asked else []
    return [*notes, *([f"left out, as it means nothing to the workbench: {', '.join(unknown)}"] if unknown else [])]


def _from_codex(entry: dict[str, Json]) -> dict[str, Json]:
    """Codex names variables where others write references to them."""
    entry = dict(entry)
    headers = dict(_object(entry.pop("http_headers", None)))
    token = entry.pop("bearer_token_env_var", None)
    if isinstance(token, str) and token:
        headers["Authorization"] = f"Bearer ${{{token}}}"
    named = _object(entry.pop("env_http_headers", None))
    headers |= {header: f"${{{variable}}}" for header, variable in named.items()}
    passed = [_variable(item) for item in _list(entry.pop("env_vars", None))]
    scopes, login = entry.pop("scopes", None), dict(_object(entry.pop("oauth", None)))
    if scopes and login:
        login["scopes"] = scopes
    entry.pop("tools", None)
    entry.pop("oauth_resource", None)
    added: dict[str, Json] = {"headers": headers, "inheritEnv": [name for name in passed if name], "oauth": login}
    return {**entry, **{key: value for key, value in added.items() if value}}


def _variable(item: Json) -> str:
    """Codex has a variable to pass on as a name, or as a name and where it is taken from."""
    return str(item.get("name", "")) if isinstance(item, dict) else str(item)


def _from_opencode(entry: dict[str, Json]) -> dict[str, Json]:
    entry = dict(entry)
    line = entry.pop("command", None)
    if isinstance(line, list) and line:
        entry |= {"command": line[0], "args": line[1:]}
    elif line is not None:
        entry["command"] = line
    if (environment := entry.pop("environment", None)) is not None:
        entry["env"] = environment
    return cast("dict[str, Json]", _without_opencode_marks(entry))


def _without_opencode_marks(value: Json) -> Json:
    """What opencode writes as `{env:NAME}` and `{file:path}`, with the dollar sign that it has everywhere else."""
    if isinstance(value, str):
        return re.sub(r"(?<!\$)\{(env|file):([^{}]+)\}", r"${\1:\2}", value)
    return _mapped(value, _without_opencode_marks)


def _from_zed(entry: dict[str, Json]) -> dict[str, Json]:
    """Zed had the program in an object once, and starts some servers by extensions of its own."""
    entry = dict(entry)
    line = entry.get("command")
    if isinstance(line, dict):
        entry |= {"command": line.get("path"), "args": line.get("args") or [], "env": line.get("env") or {}}
    if "command" not in entry and not any(key in entry for key in URL_KEYS):
        raise NotTakenOver("an extension of Zed's starts it, in a way that only Zed knows")
    entry.pop("settings", None)
    entry.pop("remote", None)
    return entry


def _with_braces(value: Json) -> Json:
    """Gemini CLI expands $NAME as well as ${NAME}."""
    if isinstance(value, str):
        return re.sub(r"\$([A-Za-z_][A-Za-z0-9_]*)", r"${\1}", value)
    return _mapped(value, _with_braces)


def _mapped(value: Json, change: Callable[[Json], Json]) -> Json:
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    return [change(item) for item in value] if isinstance(value, list) else value


def _seconds(value: Json, unit: int = 1) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return None
    seconds = value / unit
    return int(seconds) if seconds == int(seconds) else float(seconds)


def _texts(value: Json) -> Sequence[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else []
