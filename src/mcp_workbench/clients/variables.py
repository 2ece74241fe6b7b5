"""The `${…}` of other clients, written as the workbench reads them.

A reference stays a reference, a client's own variable becomes what it stood for, and any other text in braces is
escaped, so that it reaches the server as it did before.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from mcp_workbench.config.document import Json

_MARK = re.compile(r"\$\{(?P<inside>[^}]*)\}")
_REFERENCE = re.compile(r"(?P<name>[A-Z_][A-Z0-9_]*)(?P<default>:-.*)?", re.DOTALL)
_LOOSE_REFERENCE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)
_ANY_CASE = frozenset({"claude-code", "codex", "gemini-cli"})
"""Clients whose `${name}` is a variable in small letters too."""


ALWAYS_SET = frozenset(
    "HOME LOGNAME USER SHELL PATH PWD TERM LANG TMPDIR TMP TEMP APPDATA LOCALAPPDATA USERPROFILE SYSTEMROOT".split()  # noqa: SIM905
)
"""Variables that belong to wherever something is started: nobody has to set them, and a copy would soon be wrong."""


@dataclass(frozen=True)
class Context:
    """What a client's variables depend on."""

    client_id: str
    platform: str
    project: PurePath | None
    inputs: Mapping[str, Mapping[str, Json]]


def variable_name(text: str) -> str:
    """Return a text as the name of a variable: `github-token` is GITHUB_TOKEN."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    name = re.sub(r"[^A-Z0-9]+", "_", spaced.upper()).strip("_")
    return f"_{name}" if not name or name[0].isdigit() else name


def escaped(text: str) -> str:
    """Return a text that the expander gives back unchanged."""
    return text.replace("${", "$${")


@dataclass(frozen=True)
class Needed:
    """A variable that must be set for the written entry, and where its value is to be found."""

    source: str
    """In words."""
    variable: str = ""
    """The variable that the client took it from, if it was one."""
    file: str = ""
    """The file that the client took it from, if it was one."""


class Translator:
    """Translates the texts of one entry, and remembers what a person has to be told."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.notes: list[str] = []
        self.needed: dict[str, Needed] = {}
        """The variables that must be set, each with where its value comes from."""

    def translate(self, text: str, *, literal: bool = False) -> str:
        """Return the text as the workbench should read it; `literal` takes no `${…}` for a reference."""
        pieces: list[str] = []
        at = 0
        while (start := text.find("${", at)) >= 0:
            mark = _MARK.match(text, start)
            # "$" in front of a reference cannot be written: "$${" is how a literal brace is.
            meant = None if literal or mark is None or text[start - 1 : start] == "$" else self._resolve(mark["inside"])
            pieces.append(text[at:start] + ("$${" if meant is None else meant))
            at = start + 2 if meant is None or mark is None else mark.end()
        return "".join(pieces) + text[at:]

    def _resolve(self, inside: str) -> str | None:
        if reference := _REFERENCE.fullmatch(inside):
            needed = Needed("the environment", reference["name"])
            return self._reference(reference["name"], reference["default"] or "", needed)
        if (meant := self._editor_variable(inside)) is not None:
            return meant
        if self._context.client_id in _ANY_CASE and (loose := _LOOSE_REFERENCE.fullmatch(inside)):
            return self._foreign_reference(loose["name"], loose["default"] or "")
        self._note(f"${{{inside}}} is no variable here: it is passed on as that text")
        return None

    def _editor_variable(self, inside: str) -> str | None:
        kind, _, argument = inside.partition(":")
        known: dict[str, Callable[[str], str]] = {
            "env": lambda name: self._foreign_reference(name, ""),
            "input": self._input,
            "file": self._file,
            "workspaceFolder": lambda _: self._workspace(),
            "cwd": lambda _: self._workspace(),
            "workspaceFolderBasename": lambda _: self._workspace(basename=True),
            "userHome": lambda _: "${USERPROFILE}" if self._context.platform == "win32" else "${HOME}",
            "pathSeparator": lambda _: "\\" if self._context.platform == "win32" else "/",
            "/": lambda _: "\\" if self._context.platform == "win32" else "/",
        }
        return known[kind](argument) if kind in known else None

    def _reference(self, name: str, default: str, needed: Needed) -> str:
        if not default:
            self.needed.setdefault(name, needed)
        return f"${{{name}{default}}}"

    def _foreign_reference(self, name: str, default: str) -> str:
        ours = name if _REFERENCE.fullmatch(name) else variable_name(name)
        if ours != name:
            self._note(f"the variable {name} is read as {ours}: names are in capitals here")
        return self._reference(
            ours, default, Needed("the environment" if ours == name else f"the variable {name}", name)
        )

    def _file(self, path: str) -> str:
        name = variable_name(f"file {PurePath(path).name}")
        return self._reference(name, "", Needed(f"the file {path}", file=path))

    def _input(self, identifier: str) -> str:
        asked = self._context.inputs.get(identifier, {})
        name = variable_name(identifier)
        default, description = asked.get("default"), asked.get("description")
        if isinstance(default, str) and default and "}" not in default and asked.get("password") is not True:
            self._note(f"${{input:{identifier}}} is the variable {name}, with the default that it had")
            return f"${{{name}:-{default}}}"
        self._note(f"${{input:{identifier}}} is the variable {name}: nobody is asked for it here")
        what = f" ({description})" if isinstance(description, str) and description else ""
        return self._reference(name, "", Needed(f"what the client asked you for{what}"))

    def _workspace(self, *, basename: bool = False) -> str:
        if self._context.project is not None:
            return escaped(self._context.project.name if basename else str(self._context.project))
        self._note("the workspace folder is the variable WORKSPACE_FOLDER, or the current directory if it is not set")
        return "${WORKSPACE_FOLDER:-.}"

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)
