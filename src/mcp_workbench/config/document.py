"""The text of a config file as a value, and what is wrong with it where.

Plain JSON, which most files are, is read by the standard library; the parser that knows places reads whatever else
there is, and only when a place is asked for. Both read the same text as the same value.
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, cast

from mcp_workbench.config.json_text import (
    DEEPEST,
    Json,
    JsonFloat,
    JsonPath,
    Node,
    NotJson,
    line_and_column,
    parse_with_defects,
)

__all__ = ["Document", "Json", "JsonFloat", "JsonPath", "NotJson", "Problem", "read_document", "show_key", "show_path"]

_PLAIN_KEY = re.compile(r"""[^\s.\[\]"']+""")
_LONGEST_KEY_SHOWN = 80
_FOREIGN_MARKS = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


@dataclass(frozen=True)
class Problem:
    """Something wrong at one place of a document."""

    path: JsonPath
    sentence: str
    at_key: bool = False
    """Whether the key at the end of the path is what is wrong, and not its value."""

    def __str__(self) -> str:
        return f"{show_path(self.path)}: {self.sentence}" if self.path else self.sentence


class Document:
    """A text, the value that it holds, and the place of each part of it."""

    def __init__(self, text: str, value: Json, defects: tuple[Problem, ...]) -> None:
        self.value = value
        self.defects = defects
        """What can be read but is no JSON: repeated keys, NaN and Infinity."""
        self._text = text

    def place(self, problem: Problem) -> tuple[int, int]:
        """Line and column of a problem: its value, its key, or the nearest thing around it that the text has."""
        node, found = self._nearest(problem.path)
        at_key = found and problem.at_key and node.key_start is not None
        return line_and_column(self._text, cast("int", node.key_start) if at_key else node.start)

    def order(self, problem: Problem) -> int:
        """A sort key that puts problems in the order of the text; what is missing comes last in its object."""
        node, found = self._nearest(problem.path)
        return node.start if found else node.end

    def _nearest(self, path: JsonPath) -> tuple[Node, bool]:
        found = True
        while (node := self._root.at(path)) is None:
            path, found = path[:-1], False
        return node, found

    @cached_property
    def _root(self) -> Node:
        return parse_with_defects(self._text)[0]


def read_document(data: str | bytes) -> Document:
    """Read the contents of a file.

    Raises:
        NotJson: There is no value to speak of.
    """
    text = (data if isinstance(data, str) else _decode(data)).removeprefix("\ufeff")
    if not text.strip():
        raise NotJson("the file is empty; remove it, and `mcp-workbench init` writes a first one")
    try:
        value = cast("Json", json.loads(text, object_pairs_hook=_object, parse_float=JsonFloat, parse_constant=_refuse))
    except (ValueError, RecursionError):
        value = None
    if value is not None and not _is_too_deep(value):
        return Document(text, value, ())
    root, defects = parse_with_defects(text)
    return Document(text, root.value, tuple(Problem(defect.path, defect.sentence, at_key=True) for defect in defects))


def show_path(path: JsonPath) -> str:
    """A path as people write it: `toolboxes.dev.mcpServers["my server"].args[2]`."""
    return "".join(_show_step(step) for step in path).removeprefix(".")


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
            raise NotJson(f"the file is {encoding} text; save it as UTF-8")
    if b"\0" in data:
        raise NotJson("the file contains NUL bytes, as UTF-16 text does; save it as UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise NotJson("this is not UTF-8 text; save the file as UTF-8", *line_and_column(before, len(before))) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError  # the other parser says which key is repeated, and where
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _is_too_deep(value: Json) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [child for each in level for child in _children(each)]
    return any(isinstance(value, dict | list) for value in level)


def _children(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
