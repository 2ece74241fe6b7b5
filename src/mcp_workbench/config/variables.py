"""`${…}` in the strings of a JSON value: variables of the environment, and whatever else a lookup knows.

`${NAME}`, `${NAME:-default}` and `${env:NAME}` are read here; other texts in braces are put to the lookup. Everything
is expanded once and in one pass: what a variable holds is never looked at again. All mistakes are collected, each with
its path, and none of them quotes a value.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mcp_workbench.config.document import Json, JsonPath, Problem, show_key

_MARK = re.compile(r"\$\$\{|\$\{(?P<inside>[^}]*)(?P<end>\}?)")
# How Python spells the bytes of a variable that are not text.
_SURROGATE = re.compile("[\ud800-\udfff]")
_REFERENCE = re.compile(
    r"(?:(?P<name>[A-Z_][A-Z0-9_]*)|env:(?P<foreign>[A-Za-z_][A-Za-z0-9_.-]*))(?::-(?P<default>.*))?", re.DOTALL
)


@dataclass(frozen=True)
class Use:
    """One place where the value of a variable went into the document."""

    path: JsonPath
    variable: str
    value: str = field(repr=False)


@dataclass(frozen=True)
class Unset(Problem):
    """A variable that has no value, where it is needed."""


@dataclass(frozen=True)
class Value:
    """What a lookup found: the text to fill in, and whether it must be kept secret."""

    text: str = field(repr=False)
    secret: bool = True


@dataclass(frozen=True)
class Failure:
    """Why a lookup found nothing: there is no value, or the reference itself is wrong."""

    sentence: str
    unset: bool = False


class Lookup(Protocol):
    """Gives values to references other than to the environment."""

    def __call__(self, inside: str, path: JsonPath) -> Value | Failure | None:
        """What the text in braces at a place of the document means; None if nothing."""
        ...


@dataclass(frozen=True)
class Expansion:
    """A value with its variables filled in, and what became of them.

    `source_keys` maps the path of every key that was expanded to the key as the file spells it. Messages name that
    spelling: it is what the reader can search for, and it is never a secret.
    """

    value: Json
    uses: tuple[Use, ...]
    problems: tuple[Problem, ...]
    source_keys: Mapping[JsonPath, str]

    def in_source(self, path: JsonPath) -> JsonPath:
        """The path of the same place in the document before it was expanded."""
        if not self.source_keys:
            return path
        return tuple(self.source_keys.get(path[: depth + 1], step) for depth, step in enumerate(path))


def expand(value: Json, environ: Mapping[str, str], lookup: Lookup = lambda inside, path: None) -> Expansion:
    """Fill the variables of `environ`, and what `lookup` knows, into every string of `value`, keys included."""
    run = _Run(environ, lookup)
    expanded = run.expand(value, (), ())
    return Expansion(expanded, tuple(run.uses), tuple(run.problems), run.source_keys)


class _Run:
    """One expansion; `path` is a place in the result, `source` the same place in the document."""

    def __init__(self, environ: Mapping[str, str], lookup: Lookup) -> None:
        self.environ = environ
        self.lookup = lookup
        self.uses: list[Use] = []
        self.problems: list[Problem] = []
        self.source_keys: dict[JsonPath, str] = {}

    def expand(self, value: Json, path: JsonPath, source: JsonPath) -> Json:
        if isinstance(value, str):
            text, used = self._text(value, source)
            self._record(used, path)
            return text
        if isinstance(value, list):
            return [self.expand(item, (*path, index), (*source, index)) for index, item in enumerate(value)]
        if isinstance(value, dict):
            return self._object(value, path, source)
        return value

    def _object(self, value: dict[str, Json], path: JsonPath, source: JsonPath) -> dict[str, Json]:
        result: dict[str, Json] = {}
        spelled: dict[str, str] = {}
        for key, item in value.items():
            name, used = self._text(key, (*source, key))
            if name in spelled:
                self._fail(
                    (*source, key), f"means the same key as '{show_key(spelled[name])}' beside it; rename one of them"
                )
                continue
            spelled[name] = key
            place = (*path, name)
            if name != key:
                self.source_keys[place] = key
            self._record(used, place)
            result[name] = self.expand(item, place, (*source, key))
        return result

    def _text(self, text: str, source: JsonPath) -> tuple[str, list[tuple[str, str]]]:
        if "${" not in text:
            return text, []
        used: list[tuple[str, str]] = []
        return "".join(self._pieces(text, source, used)), used

    def _pieces(self, text: str, source: JsonPath, used: list[tuple[str, str]]) -> Iterator[str]:
        end = 0
        for mark in _MARK.finditer(text):
            yield text[end : mark.start()]
            yield "${" if mark["inside"] is None else self._filled(mark, source, used)
            end = mark.end()
        yield text[end:]

    def _filled(self, mark: re.Match[str], source: JsonPath, used: list[tuple[str, str]]) -> str:
        """The text that a `${…}` stands for; one that stands for nothing stays as it is."""
        if not mark["end"]:
            self._fail(source, f"the ${{ at character {mark.start() + 1} has no closing brace; {_LITERAL}")
            return mark[0]
        found = self._environment(mark["inside"]) or self.lookup(mark["inside"], source)
        if found is None:
            found = Failure(f"the ${{ at character {mark.start() + 1} begins no reference; {_RULE}; {_LITERAL}")
        if isinstance(found, Failure):
            self.problems.append((Unset if found.unset else Problem)(source, found.sentence))
            return mark[0]
        if found.secret:
            used.append((mark["inside"].partition(":-")[0].removeprefix("env:"), found.text))
        return found.text

    def _environment(self, inside: str) -> Value | Failure | None:
        reference = _REFERENCE.fullmatch(inside)
        if reference is None:
            return None
        name = reference["name"] or reference["foreign"]
        value = self.environ.get(name)
        if value is None and reference["default"] is not None:
            return Value(reference["default"], secret=False)
        if value is None:
            return Failure(_unset(name, inside), unset=True)
        if not value.isascii() and _SURROGATE.search(value):
            return Failure(f"variable {name} does not hold valid Unicode text")
        return Value(value)

    def _record(self, used: list[tuple[str, str]], path: JsonPath) -> None:
        self.uses += [Use(path, variable, value) for variable, value in used]

    def _fail(self, source: JsonPath, sentence: str) -> None:
        self.problems.append(Problem(source, sentence))


_RULE = (
    "write ${NAME} or ${NAME:-default}, the name in capital letters, digits and underscores (no digit first), "
    "or ${env:NAME}, ${input:id}, ${cmd: command}"
)
_LITERAL = "write $${ for a literal ${"


def _unset(name: str, inside: str) -> str:
    return (
        f'variable {name} is not set; run `export {name}=value`, put it into a file that "envFile" names, '
        f"or write ${{{inside}:-default}} to do without it"
    )
