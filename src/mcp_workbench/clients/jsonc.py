"""JSON as editors accept it: comments, trailing commas and a byte order mark, with the place of every value.

The places are what lets `json_edit` change one member of a file and leave every other character alone.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from mcp_workbench.config.document import JsonFloat
from mcp_workbench.errors import WorkbenchError

_GAP = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM = re.compile(r"-?[0-9][0-9eE.+-]*|true|false|null")


class NotJson(WorkbenchError):
    """Text that is not JSON, not even with comments."""


@dataclass(frozen=True)
class Node:
    """A value of the text, and where it stands in it."""

    value: Any
    start: int
    end: int
    members: dict[str, "Node"] = field(default_factory=dict[str, "Node"])

    @property
    def is_object(self) -> bool:
        """Whether the value is a JSON object."""
        return isinstance(self.value, dict)


def parse(text: str) -> Node:
    """Read a whole text.

    Raises:
        NotJson: It is not JSON, even allowing for comments and trailing commas; the message says where.
    """
    try:
        return _Parser(text).document()
    except RecursionError:
        raise NotJson("it is nested too deeply to be a config") from None


def skip_gap(text: str, position: int) -> int:
    """Return where the next thing that is neither space nor comment begins."""
    match = _GAP.match(text, position)
    return match.end() if match else position


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text

    def document(self) -> Node:
        node = self._value(skip_gap(self._text, 0))
        rest = skip_gap(self._text, node.end)
        if rest != len(self._text):
            self._fail("there is more text after the end of the JSON", rest)
        return node

    def _value(self, at: int) -> Node:
        match self._text[at : at + 1]:
            case "{":
                return self._object(at)
            case "[":
                return self._array(at)
            case '"':
                return self._scalar(_STRING, at)
            case _:
                return self._scalar(_ATOM, at)

    def _scalar(self, pattern: re.Pattern[str], at: int) -> Node:
        match = pattern.match(self._text, at)
        if match is None:
            self._fail("a value was expected" if at < len(self._text) else "the text ends too early", at)
        try:
            return Node(json.loads(match.group(), parse_float=JsonFloat), at, match.end())
        except ValueError:
            self._fail("this is not a JSON value", at)

    def _object(self, start: int) -> Node:
        members: dict[str, Node] = {}
        at = skip_gap(self._text, start + 1)
        while self._text[at : at + 1] != "}":
            key = self._key(at)
            if key.value in members:
                self._fail(f"the key {json.dumps(key.value)} is there twice", at)
            members[key.value] = self._value(self._after_colon(key.end))
            at = self._next_item(members[key.value].end, "}")
        return Node({name: node.value for name, node in members.items()}, start, at + 1, members)

    def _array(self, start: int) -> Node:
        items: list[Node] = []
        at = skip_gap(self._text, start + 1)
        while self._text[at : at + 1] != "]":
            items.append(self._value(at))
            at = self._next_item(items[-1].end, "]")
        return Node([item.value for item in items], start, at + 1)

    def _key(self, at: int) -> Node:
        if self._text[at : at + 1] != '"':
            self._fail("a key in double quotes was expected", at)
        return self._scalar(_STRING, at)

    def _after_colon(self, end: int) -> int:
        at = skip_gap(self._text, end)
        if self._text[at : at + 1] != ":":
            self._fail("a colon was expected", at)
        return skip_gap(self._text, at + 1)

    def _next_item(self, end: int, closing: str) -> int:
        at = skip_gap(self._text, end)
        if self._text[at : at + 1] == ",":
            return skip_gap(self._text, at + 1)
        if self._text[at : at + 1] != closing:
            self._fail(f"a comma or {closing} was expected", at)
        return at

    def _fail(self, problem: str, at: int) -> NoReturn:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        raise NotJson(f"{problem} (line {line}, column {column})")
