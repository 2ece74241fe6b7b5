"""A client's entry as a server of a toolbox: variables translated, secrets hidden, what cannot be taken over named."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from mcp_workbench.clients.reading import FoundServer
from mcp_workbench.clients.secrets import is_secret, looks_secret, url_password
from mcp_workbench.clients.variables import Context, Translator, variable_name
from mcp_workbench.config.document import Json, JsonFloat
from mcp_workbench.config.models import StdioServer
from mcp_workbench.errors import WorkbenchError

Hide = Callable[[str, str, str], str]
"""What becomes of a secret: its preferred variable, its value and its place in the entry, to the text to write."""

_SHELLS = frozenset({"sh", "bash", "zsh", "fish", "dash", "cmd", "powershell", "pwsh"})
_REMOTE_KEYS = ("url", "serverUrl", "httpUrl")
_TRANSLATED_KEYS = frozenset({"command", "args", "env", "cwd", "type", "transport", "disabled", "enabled"})


class NotTakenOver(WorkbenchError):
    """An entry that cannot become a server of a toolbox; the sentence says why."""


@dataclass(frozen=True)
class Entry:
    """A server as it can stand in a toolbox."""

    content: dict[str, Json] = field(repr=False)
    notes: tuple[str, ...]
    needed: dict[str, str]


def is_workbench(entry: Json) -> bool:
    """Tell whether an entry starts the workbench itself: importing it would make it start itself for ever."""
    if not isinstance(entry, dict):
        return False
    args = entry.get("args")
    words = [str(entry.get("command", "")), *map(str, args if isinstance(args, list) else [])]
    program = words[0].replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".exe")
    return program == "mcp-workbench" or any(_names_workbench(word) for word in words[1:])


def make_entry(found: FoundServer, platform: str, hide: Hide) -> Entry:
    """Return what to write for a server that was found.

    Raises:
        NotTakenOver: It is a remote server, or not an entry that any client could start.
    """
    source = _stdio_entry(found.entry)
    maker = _Maker(found, platform, hide)
    content: dict[str, Json] = {"command": maker.text(str(source["command"]))}
    content |= {key: value for key, value in (("args", maker.args()), ("env", maker.env())) if value}
    if directory := maker.directory():
        content["cwd"] = directory
    content |= {key: value for key, value in source.items() if key in StdioServer.known_keys() - _TRANSLATED_KEYS}
    if found.disabled or source.get("disabled") is True or source.get("enabled") is False:
        content["disabled"] = True
    return Entry(content, (*maker.translator.notes, *_left_out(source)), maker.translator.needed)


def _names_workbench(word: str) -> bool:
    return word in {"mcp-workbench", "mcp_workbench"} or word.startswith(("mcp-workbench@", "mcp-workbench=="))


def _stdio_entry(entry: Json) -> dict[str, Json]:
    if not isinstance(entry, dict):
        raise NotTakenOver("it is not a JSON object")
    address = next((entry[key] for key in _REMOTE_KEYS if key in entry), None)
    kind = entry.get("type", entry.get("transport"))
    if address is not None or kind not in {None, "stdio"}:
        raise NotTakenOver(f"it is a remote server{_host(address)}: only stdio servers are supported so far")
    command = entry.get("command")
    if not isinstance(command, str) or not command.strip():
        raise NotTakenOver("it has no command")
    return entry


def _host(address: Json) -> str:
    """Name the host alone: paths and queries of such addresses often hold keys."""
    try:
        host = urlsplit(address).hostname if isinstance(address, str) else None
    except ValueError:
        host = None
    return f" at {host}" if host else ""


def _left_out(source: dict[str, Json]) -> Iterator[str]:
    if "envFile" in source:
        yield "envFile is not read here: put its variables into env, or export them"
    unknown = sorted(source.keys() - StdioServer.known_keys() - _TRANSLATED_KEYS - {"envFile"})
    if unknown:
        yield f"left out, as it means nothing to the workbench: {', '.join(unknown)}"


class _Maker:
    def __init__(self, found: FoundServer, platform: str, hide: Hide) -> None:
        self._found = found
        self._source = found.entry if isinstance(found.entry, dict) else {}
        self._hide = hide
        self.translator = Translator(Context(found.client.id, platform, found.project, found.inputs))

    def text(self, text: str) -> str:
        return self.translator.translate(text)

    def directory(self) -> str | None:
        own = self._source.get("cwd")
        if isinstance(own, str) and own.strip():
            directory = self.text(own)
            relative = self._found.project is not None and not PurePath(own).is_absolute() and "${" not in own
            return str(self._found.project / own) if relative and self._found.project else directory
        if self._found.project is None:
            return None
        if not Path(self._found.project).is_dir():
            raise NotTakenOver(f"its project is gone: {self._found.project}")
        # A client starts a project's server in the project; so must we, wherever the workbench itself is started.
        return self.text(str(self._found.project))

    def env(self) -> dict[str, Json]:
        env = self._source.get("env")
        if env is None:
            return {}
        if not isinstance(env, dict):
            raise NotTakenOver("its env is not a JSON object")
        texts = {name: _as_text(value, f"env.{name}") for name, value in env.items() if value is not None}
        return {self.translator.translate(name, literal=True): self._env_value(name, texts[name]) for name in texts}

    def _env_value(self, name: str, value: str) -> str:
        if "${" not in value and is_secret(name, value):
            return self._hide(variable_name(name), value, f"env.{name}")
        return self.text(value)

    def args(self) -> list[Json]:
        args = self._source.get("args")
        if args is None:
            return []
        if not isinstance(args, list):
            raise NotTakenOver("its args are not a list")
        texts = [_as_text(arg, f"args[{index}]") for index, arg in enumerate(args)]
        return [self._arg(texts, index) for index in range(len(texts))]

    def _arg(self, args: list[str], index: int) -> str:
        arg, place = args[index], f"args[{index}]"
        if "${" in arg:
            return self.translator.translate(arg, literal=self._is_script())
        name, equals, value = arg.partition("=")
        if equals and _is_name(name) and is_secret(name, value):
            variable = self._prefixed(name) if name.startswith("-") else variable_name(name)
            return f"{name}={self._bare(variable, value, place)}"
        if index and args[index - 1].startswith("--") and not arg.startswith("-") and is_secret(args[index - 1], arg):
            return self._bare(self._prefixed(args[index - 1]), arg, place)
        return self._bare(self._prefixed("secret"), arg, place) if looks_secret(arg) else self._header(arg, place)

    def _bare(self, variable: str, value: str, place: str) -> str:
        password = url_password(value)
        if password is None:
            return self._hide(variable, value, place)
        hidden = self._hide(self._prefixed("password"), password, place)
        return value.replace(f":{password}@", f":{hidden}@", 1)

    def _header(self, arg: str, place: str) -> str:
        name, colon, value = arg.partition(":")
        if colon and _is_name(name) and is_secret(name, value.strip()) and not value.startswith("//"):
            gap = value[: len(value) - len(value.lstrip())]
            return f"{name}:{gap}{self._hide(self._prefixed(name), value.strip(), place)}"
        return arg

    def _prefixed(self, name: str) -> str:
        """A flag is called the same in many servers; its variable must not be."""
        server, own = variable_name(self._found.name), variable_name(name)
        return own if own.startswith(f"{server}_") else f"{server}_{own}".lstrip("_")

    def _is_script(self) -> bool:
        """Claude Desktop expands nothing, so braces in a shell's arguments are the shell's own."""
        program = PurePath(str(self._source.get("command"))).stem.lower()
        return self._found.client.id == "claude-desktop" and program in _SHELLS


def _is_name(text: str) -> bool:
    return text.lstrip("-").replace("-", "").replace("_", "").isalnum()


def _as_text(value: Json, place: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, JsonFloat):
        return value.text
    if isinstance(value, str | int | float):
        return str(value)
    raise NotTakenOver(f"{place} is not text")
