"""JSON text as people write it in a file: what it holds, or what is wrong with it and where.

Stricter than `json.loads` where that would guess (repeated keys, encodings), and with messages for a person: a line,
a column and a hint, or the path of the value. No message quotes a value, since any value may be a secret.
"""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonPath: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"""[^\s.\[\]"']+""")
_LONGEST_KEY_SHOWN = 80
_FOREIGN_MARKS = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_SYNTAX_HINTS = {
    "Expecting property name": "a key in double quotes must stand here",
    "Expecting ':'": "a colon must stand between a key and its value",
    "Expecting ','": "a comma may be missing before this",
    "Expecting value": "a value must stand here",
    "Extra data": "the document has ended before this; remove what follows",
    "Invalid control character": "a string must not contain a line break or tab; write \\n or \\t",
    "Invalid \\escape": "write a backslash in a string as \\\\",
    "Invalid \\uXXXX": "\\u must be followed by four hexadecimal digits; write a backslash itself as \\\\",
    "Unterminated string": "the string that begins here has no closing double quote",
}


@dataclass(frozen=True)
class Problem:
    """Something wrong at one place of a document."""

    path: JsonPath
    sentence: str

    def __str__(self) -> str:
        return f"{show_path(self.path)}: {self.sentence}" if self.path else self.sentence


class UnreadableDocument(Exception):
    """Text that holds no JSON value; `str()` says why and where."""


class JsonFloat(float):
    """A number that remembers its spelling: `3.10` is often a version, and must not become `3.1`."""

    text: str

    def __new__(cls, text: str) -> "JsonFloat":
        """Keep the literal beside its value."""
        number = super().__new__(cls, text)
        number.text = text
        return number


class _RepeatingObject(dict[str, Json]):
    """An object some of whose keys stand in it more than once."""

    repeated: Sequence[str] = ()


def show_path(path: JsonPath) -> str:
    """A path as people write it: `toolboxes.dev.mcpServers["my server"].args[2]`."""
    return "".join(_show_step(step) for step in path).removeprefix(".")


def parse_document(data: str | bytes) -> tuple[Json, list[Problem]]:
    """Parse one JSON document.

    Returns:
        The value, and what in it is not JSON although Python reads it: repeated keys, NaN and Infinity.

    Raises:
        UnreadableDocument: if there is no value to speak of.
    """
    text = (data if isinstance(data, str) else _decode(data)).removeprefix("\ufeff")
    if not text.strip():
        raise UnreadableDocument("the file is empty; remove it, and `mcp-workbench init` writes a first one")
    value = _parse(text)
    return value, list(_defects(value, ()))


def show_key(key: str | int) -> str:
    """A key as it may stand in a message: on one line, printable and not endless."""
    text = _cut(str(key))
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _show_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    key = _cut(step)
    if _PLAIN_KEY.fullmatch(key) and key.isprintable():
        return f".{key}"
    return f"[{json.dumps(key, ensure_ascii=not key.isprintable())}]"


def _cut(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY_SHOWN else key[:_LONGEST_KEY_SHOWN] + "…"


def _decode(data: bytes) -> str:
    for encoding, marks in _FOREIGN_MARKS.items():
        if data.startswith(marks):
            raise UnreadableDocument(f"the file is {encoding} text; save it as UTF-8")
    if b"\0" in data:
        raise UnreadableDocument("the file contains NUL bytes, as UTF-16 text does; save it as UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableDocument(f"line {line} is not UTF-8 text; save the file as UTF-8") from None


def _parse(text: str) -> Json:
    try:
        return cast("Json", json.loads(text, object_pairs_hook=_object, parse_float=JsonFloat))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UnreadableDocument(f"{where}: not valid JSON: {_syntax_hint(text, error)}") from None
    except RecursionError:
        raise UnreadableDocument("the document is nested too deeply") from None
    except ValueError:
        # Python refuses to convert integers of thousands of digits, without saying where.
        raise UnreadableDocument("a number in the document is too long") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    keys = [key for key, _ in pairs]
    repeating = _RepeatingObject(found)
    repeating.repeated = [key for key in found if keys.count(key) > 1]
    return repeating


def _defects(value: Json, path: JsonPath) -> Iterator[Problem]:
    if isinstance(value, float) and not isinstance(value, JsonFloat):
        yield Problem(path, "NaN and Infinity are not JSON; write a number")
    if isinstance(value, _RepeatingObject):
        for key in value.repeated:
            yield Problem((*path, key), "this key is given more than once; keep one of them")
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _defects(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _defects(item, (*path, index))


def _syntax_hint(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos : error.pos + 200].lstrip()
    before = text[max(0, error.pos - 200) : error.pos].rstrip()
    if re.match(r",\s*[}\]]", rest) or (before.endswith(",") and rest.startswith(("}", "]"))):
        return "remove the comma before the closing bracket"
    if rest.startswith(("//", "/*", "#")):
        return 'JSON has no comments; use a key that starts with "_", such as "_comment"'
    if rest.startswith("'"):
        return "strings stand in double quotes"
    if not rest:
        return "the document ends too early; a closing bracket or quote is missing"
    return next((hint for start, hint in _SYNTAX_HINTS.items() if error.msg.startswith(start)), error.msg)
