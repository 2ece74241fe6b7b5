"""A client's entry as a server of a toolbox: variables translated, secrets hidden, what cannot be taken over named."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from mcp_workbench.clients.dialects import NotTakenOver, common_entry
from mcp_workbench.clients.locations import Client
from mcp_workbench.clients.reading import FoundServer
from mcp_workbench.clients.secret_parts import Part, holds_secret, secret_parts
from mcp_workbench.clients.secrets import is_secret, is_setting, names_secret
from mcp_workbench.clients.variables import Context, Needed, Translator, variable_name
from mcp_workbench.config.document import Json, JsonFloat

__all__ = ["Entry", "Hide", "NotTakenOver", "hide_secrets", "is_workbench", "make_entry"]

Hide = Callable[[str, str, str], str]
"""What becomes of a secret: its preferred variable, its value and its place in the entry, to the text to write."""

_NOBODY = Client("workbench", "the workbench")
_SHELLS = frozenset({"sh", "bash", "zsh", "fish", "dash", "cmd", "powershell", "pwsh"})
_PACKAGE_RUNNERS = frozenset({"npx", "bunx", "uvx", "npm", "pnpm", "yarn", "uv", "pipx"})
_PLAIN_HEADERS = frozenset({"accept", "accept-language", "cache-control", "content-type", "user-agent"})
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
# `-pPASS`, as mysql has it; `-port` and its like are words.
_GLUED = re.compile(r"-[pPkt](?=.*[0-9A-Z!@#$%^&*?])[^-=\s]{4,}")
_LOGIN_OPTION = re.compile(r"-u|--(?:user|login|basic|auth|basic-auth|credentials?)")
_SHORT_OPTION = re.compile(r"-[kKtTpP]|-pw")
_PLAIN_WORD = re.compile(r"[a-z]+|[0-9]+|[\w.-]*[./\\:@][\w./\\:@-]*")


@dataclass(frozen=True)
class Entry:
    """A server as it can stand in a toolbox."""

    content: dict[str, Json] = field(repr=False)
    notes: tuple[str, ...]
    needed: Mapping[str, Needed]


def is_workbench(entry: Json) -> bool:
    """Tell whether an entry starts the workbench itself: importing it would make it start itself for ever."""
    if not isinstance(entry, dict):
        return False
    words = [*_words(entry.get("command")), *_words(entry.get("args"))]
    program = words[0].replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".exe") if words else ""
    return program == "mcp-workbench" or any(_names_workbench(word) for word in words[1:])


def make_entry(found: FoundServer, platform: str, hide: Hide) -> Entry:
    """Return what to write for a server that was found.

    Raises:
        NotTakenOver: It is not an entry that any client could start.
    """
    common = common_entry(found.client.id, found.entry)
    maker = _Maker(found, common.content, platform, hide)
    content = maker.remote() if "url" in common.content else maker.program()
    content |= maker.rest()
    if found.disabled:
        content["disabled"] = True
    notes = dict.fromkeys((*maker.translator.notes, *common.notes))
    return Entry(content, tuple(notes), maker.translator.needed)


def hide_secrets(name: str, content: dict[str, Json], hide: Hide) -> dict[str, Json]:
    """Return an entry that is the workbench's own already, with its secrets hidden and everything else as it is."""
    found = FoundServer(_NOBODY, Path(), name, content)
    maker = _Maker(found, content, "", hide, translated=False)
    hidden = maker.remote() if "url" in content else maker.program()
    return {key: hidden.get(key, value) for key, value in content.items()}


def _words(value: Json) -> list[str]:
    if isinstance(value, dict):  # as Zed had it
        return [*_words(value.get("path")), *_words(value.get("args"))]
    return [str(word) for word in value] if isinstance(value, list) else [] if value is None else [str(value)]


def _names_workbench(word: str) -> bool:
    return word in {"mcp-workbench", "mcp_workbench"} or word.startswith(("mcp-workbench@", "mcp-workbench=="))


class _Maker:
    def __init__(
        self, found: FoundServer, content: dict[str, Json], platform: str, hide: Hide, *, translated: bool = True
    ) -> None:
        self._found = found
        self._source = content
        self._left = dict(content)
        self._hide = hide
        self._translated = translated
        self.translator = Translator(Context(found.client.id, platform, found.project, found.inputs))

    def program(self) -> dict[str, Json]:
        """The part of the entry that starts a program."""
        content: dict[str, Json] = {"command": self._in_parts(str(self._left.pop("command", "")), "command")}
        content |= {key: value for key, value in (("args", self._args()), ("env", self._env())) if value}
        if file := self._env_file():
            content["envFile"] = file
        if directory := self._directory():
            content["cwd"] = directory
        return content

    def remote(self) -> dict[str, Json]:
        """The part of the entry that says where a server is, and how one gets in."""
        content: dict[str, Json] = {"url": self._in_parts(str(self._left.pop("url")), "url")}
        headers = self._left.pop("headers", None)
        if headers is not None and not isinstance(headers, dict):
            raise NotTakenOver("its headers are not a JSON object")
        if headers:
            texts = {name: _as_text(value, f"headers.{name}") for name, value in headers.items()}
            content["headers"] = {self._text(name): self._header(name, value) for name, value in texts.items()}
        if isinstance(login := self._left.pop("oauth", None), dict):
            content["oauth"] = self._login(login)
        return content

    def rest(self) -> dict[str, Json]:
        """What else the entry says, which holds no secrets."""
        return {key: self._everywhere(value) for key, value in self._left.items()}

    def _everywhere(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {key: self._everywhere(item) for key, item in value.items()}
        return [self._everywhere(item) for item in value] if isinstance(value, list) else value

    def _text(self, text: str, *, literal: bool = False) -> str:
        return self.translator.translate(text, literal=literal) if self._translated else text

    def _in_parts(self, text: str, place: str, *, name: str = "", literal: bool = False) -> str:
        parts = secret_parts(text)
        return self._with_hidden(text, parts, place, name=name, literal=literal)

    def _with_hidden(self, text: str, parts: list[Part], place: str, *, name: str = "", literal: bool = False) -> str:
        pieces, at = list[str](), 0
        for part in parts:
            pieces.append(self._text(text[at : part.start], literal=literal))
            pieces.append(self._hide(self._variable(part.name or name), text[part.start : part.end], place))
            at = part.end
        return "".join(pieces) + self._text(text[at:], literal=literal)

    def _variable(self, name: str) -> str:
        """A flag is called the same in many servers; its variable must not be."""
        if _ENV_NAME.fullmatch(name):
            return name
        server, own = variable_name(self._found.name), variable_name(name or "secret")
        return own if own.startswith(f"{server}_") else f"{server}_{own}".lstrip("_")

    def _directory(self) -> str | None:
        own = self._left.pop("cwd", None)
        project = self._found.project
        if isinstance(own, str) and own.strip():
            return self._in_project(own)
        if project is None:
            return None
        if not Path(project).is_dir():
            raise NotTakenOver(f"its project is gone: {project}")
        # A client starts a project's server in the project; so must we, wherever the workbench itself is started.
        return self._text(str(project))

    def _in_project(self, path: str) -> str:
        project = self._found.project
        relative = project is not None and not PurePath(path).is_absolute() and not path.startswith(("$", "~"))
        return str(project / path) if relative and project else self._text(path)

    def _env_file(self) -> Json:
        files = self._left.pop("envFile", None)
        if isinstance(files, str):
            return self._in_project(files)
        return [self._in_project(str(file)) for file in files] if isinstance(files, list) else None

    def _env(self) -> dict[str, Json]:
        env = self._left.pop("env", None)
        if env is None:
            return {}
        if not isinstance(env, dict):
            raise NotTakenOver("its env is not a JSON object")
        texts = {name: _as_text(value, f"env.{name}") for name, value in env.items() if value is not None}
        return {self._text(name, literal=True): self._env_value(name, texts[name]) for name in texts}

    def _env_value(self, name: str, value: str) -> str:
        if "${" not in value and holds_secret(name, value):
            return self._hide(variable_name(name), value, f"env.{name}")
        return self._in_parts(value, f"env.{name}", name=variable_name(name))

    def _header(self, name: str, value: str) -> str:
        """Every header may be a key, but for a few that never are; the word before a token can be read by all."""
        place = f"headers.{name}"
        if "${" in value or name.lower() in _PLAIN_HEADERS or is_setting(name, value):
            return self._in_parts(value, place, name=name)
        scheme = re.match(r"(?i)(?:bearer|basic|token|apikey|bot|digest) +", value)
        start = scheme.end() if scheme else 0
        whole = [Part(start, len(value))] if value[start:].strip() else []
        return self._with_hidden(value, whole, place, name=name)

    def _login(self, login: Mapping[str, Json]) -> dict[str, Json]:
        said = {key: self._everywhere(value) for key, value in login.items()}
        secret = login.get("clientSecret")
        if isinstance(secret, str) and "${" not in secret:
            said["clientSecret"] = self._hide(self._variable("client-secret"), secret, "oauth.clientSecret")
        return said

    def _args(self) -> list[Json]:
        args = self._left.pop("args", None)
        if args is None:
            return []
        if not isinstance(args, list):
            raise NotTakenOver("its args are not a list")
        texts = [_as_text(arg, f"args[{index}]") for index, arg in enumerate(args)]
        return [self._arg(texts, index) for index in range(len(texts))]

    def _arg(self, args: list[str], index: int) -> str:
        arg, flag = args[index], args[index - 1] if index else ""
        parts = secret_parts(arg)
        if "${" not in arg and (start := self._secret_from(args, index)) is not None and not parts:
            parts = [Part(start, len(arg))]
        name = flag.lstrip("-") if flag.startswith("-") and "=" not in flag else ""
        return self._with_hidden(arg, parts, f"args[{index}]", name=name, literal=self._is_script())

    def _secret_from(self, args: list[str], index: int) -> int | None:
        """Where the secret begins that an argument is because of its place, up to its end."""
        arg, flag = args[index], args[index - 1] if index else ""
        if flag.startswith("-") and "=" not in flag and arg and not arg.startswith("-"):
            if names_secret(flag) and is_secret(flag, arg):
                return 0
            if _LOGIN_OPTION.fullmatch(flag) and ":" in arg and "/" not in arg:
                return arg.index(":") + 1
            if _SHORT_OPTION.fullmatch(flag) and len(arg) > 5 and not self._names_package(flag, arg):
                return 0
        return 2 if _GLUED.fullmatch(arg) and not self._runs_packages() else None

    def _names_package(self, flag: str, arg: str) -> bool:
        return bool(_PLAIN_WORD.fullmatch(arg)) or (flag == "-p" and self._runs_packages())

    def _runs_packages(self) -> bool:
        return PurePath(str(self._source.get("command"))).stem.lower() in _PACKAGE_RUNNERS

    def _is_script(self) -> bool:
        """Claude Desktop expands nothing, so braces in a shell's arguments are the shell's own."""
        program = PurePath(str(self._source.get("command"))).stem.lower()
        return self._found.client.id == "claude-desktop" and program in _SHELLS


def _as_text(value: Json, place: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, JsonFloat):
        return value.text
    if isinstance(value, str | int | float):
        return str(value)
    raise NotTakenOver(f"{place} is not text")
