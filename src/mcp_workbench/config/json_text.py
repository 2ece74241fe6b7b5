r"""JSON as people write it in a file, with the place of every value and key.

Read beside plain JSON: `//` and `/* */` comments, commas before a closing bracket, strings in single quotes and keys
without quotes, as JSON5 has them. A byte order mark counts as space. Numbers and escapes are JSON's own: `C:\temp` in
a string is a mistake to be told of, not a tab. Nesting is bounded, so no text can exhaust the stack.

The places let messages name line and column, and let an edit change one member and leave every other character alone.
No message quotes a value, since any value may be a secret.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from mcp_workbench.errors import WorkbenchError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonPath: TypeAlias = tuple[str | int, ...]

DEEPEST = 128
TOO_DEEP = "the document is nested too deeply to be a config"
REPEATED = "this key is given more than once; keep one of them"
NOT_FINITE = "NaN and Infinity are not JSON; write a number"

_GAP = re.compile(r"[\s\ufeff]*(?:(?://[^\r\n]*|/\*.*?\*/)[\s\ufeff]*)*", re.DOTALL)
_STRINGS = {
    '"': re.compile(r'"[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*)*'),
    "'": re.compile(r"'[^'\\\x00-\x1f]*(?:\\[^\x00-\x1f][^'\\\x00-\x1f]*)*"),
}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])")
_WORD = re.compile(r"(?![0-9])[\w$]+")
_ESCAPE = re.compile(r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})|(?P<unknown>\\)")
_WORDS = {"true": True, "false": False, "null": None}
_NOT_FINITE = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf", "+Infinity": "inf"}
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}


class NotJson(WorkbenchError):
    """Text that cannot be read, with what is wrong and where."""

    def __init__(self, problem: str, line: int = 1, column: int = 1) -> None:
        self.problem = problem
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {problem}")


class JsonFloat(float):
    """A number that remembers its spelling: `3.10` is often a version, and must not become `3.1`."""

    text: str

    def __new__(cls, text: str) -> "JsonFloat":
        """Keep the literal beside its value."""
        number = super().__new__(cls, text)
        number.text = text
        return number


@dataclass(slots=True)
class Node:
    """A value, and where it stands in its text: from `start` up to `end`."""

    value: Any
    start: int
    end: int
    members: "dict[str, Node]"
    """Of an object: its values by key."""
    items: "list[Node]"
    """Of a list: its values."""
    key_start: int | None = None
    """Of an object's value: where its key stands."""

    @property
    def is_object(self) -> bool:
        """Whether the value is a JSON object."""
        return isinstance(self.value, dict)

    def at(self, path: JsonPath) -> "Node | None":
        """The value at a path, if there is one."""
        node: Node | None = self
        for step in path:
            if node is None:
                return None
            if isinstance(step, str):
                node = node.members.get(step)
            else:
                node = node.items[step] if step < len(node.items) else None
        return node


@dataclass(frozen=True)
class Defect:
    """Something that can be read, but that is no JSON or has two meanings."""

    path: JsonPath
    sentence: str
    start: int


def parse(text: str) -> Node:
    """Read a text that has no defects either.

    Raises:
        NotJson: It cannot be read, or a key is repeated in it, or a number is none.
    """
    node, defects = parse_with_defects(text)
    if defects:
        raise NotJson(defects[0].sentence, *line_and_column(text, defects[0].start))
    return node


def parse_with_defects(text: str) -> tuple[Node, list[Defect]]:
    """Read a text, and say what in it had better not be so. Of a repeated key the last value counts.

    Raises:
        NotJson: It cannot be read.
    """
    parser = _Parser(text)
    return parser.document(), parser.defects


def skip_gap(text: str, position: int) -> int:
    """Where the next thing that is neither space nor comment begins."""
    match = _GAP.match(text, position)
    return match.end() if match else position


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """The place of a character as editors count, from one."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class _Parser:
    def __init__(self, text: str) -> None:
        self.defects: list[Defect] = []
        self._text = text
        self._path: list[str | int] = []

    def document(self) -> Node:
        node = self._value(self._skip(0))
        if (rest := self._skip(node.end)) != len(self._text):
            self._fail("the document has ended before this; remove what follows", rest)
        return node

    def _value(self, at: int) -> Node:
        match self._text[at : at + 1]:
            case "{":
                return self._object(at)
            case "[":
                return self._list(at)
            case '"' | "'":
                value, end = self._string(at)
                return Node(value, at, end, {}, [])
            case _:
                return self._number_or_word(at)

    def _object(self, start: int) -> Node:
        node = Node({}, start, start, {}, [])
        at = self._enter(start)
        while self._text[at : at + 1] != "}":
            key, end = self._key(at)
            self._path.append(key)
            if key in node.members:
                self.defects.append(Defect(tuple(self._path), REPEATED, at))
            member = self._value(self._after_colon(end))
            self._path.pop()
            member.key_start = at
            node.members[key], node.value[key] = member, member.value
            at = self._after_item(member.end, "}")
        node.end = at + 1
        return node

    def _list(self, start: int) -> Node:
        node = Node([], start, start, {}, [])
        at = self._enter(start)
        while self._text[at : at + 1] != "]":
            self._path.append(len(node.items))
            item = self._value(at)
            self._path.pop()
            node.items.append(item)
            node.value.append(item.value)
            at = self._after_item(item.end, "]")
        node.end = at + 1
        return node

    def _enter(self, start: int) -> int:
        if len(self._path) >= DEEPEST:
            self._fail(TOO_DEEP, start)
        return self._skip(start + 1)

    def _key(self, at: int) -> tuple[str, int]:
        if self._text[at : at + 1] in ('"', "'"):
            return self._string(at)
        word = _WORD.match(self._text, at)
        if word is None:
            self._fail("a key must stand here, in quotes unless it is a plain word", at)
        return word[0], word.end()

    def _after_colon(self, end: int) -> int:
        at = self._skip(end)
        if self._text[at : at + 1] != ":":
            self._fail("a colon must stand between a key and its value", at)
        return self._skip(at + 1)

    def _after_item(self, end: int, closing: str) -> int:
        at = self._skip(end)
        if self._text[at : at + 1] == ",":
            return self._skip(at + 1)
        if self._text[at : at + 1] != closing:
            self._fail("a comma may be missing before this", at)
        return at

    def _string(self, start: int) -> tuple[str, int]:
        quote = self._text[start]
        match = _STRINGS[quote].match(self._text, start)
        end = match.end() if match else start
        if self._text[end : end + 1] != quote:
            self._fail_in_string(start, end)
        inside = self._text[start + 1 : end]
        return (self._unescaped(inside, start + 1) if "\\" in inside else inside), end + 1

    def _unescaped(self, inside: str, start: int) -> str:
        # An escaped single quote needs no escape in the double quotes that the standard library reads.
        plain = re.sub(r"\\.|\"", lambda part: _IN_DOUBLE_QUOTES.get(part[0], part[0]), inside)
        try:
            return str(json.loads(f'"{plain}"'))
        except ValueError:
            wrong = next(match.start() for match in _ESCAPE.finditer(inside) if match["unknown"])
            unicode = inside[wrong + 1 : wrong + 2] == "u"
            self._fail(_UNICODE_ESCAPE if unicode else "write a backslash in a string as \\\\", start + wrong)

    def _number_or_word(self, at: int) -> Node:
        if number := _NUMBER.match(self._text, at):
            return Node(self._number(number[0], at), at, number.end(), {}, [])
        word = _WORD.match(self._text, at + 1 if self._text[at : at + 1] in ("-", "+") else at)
        name = self._text[at : word.end()] if word else ""
        if name in _NOT_FINITE:
            self.defects.append(Defect(tuple(self._path), NOT_FINITE, at))
            return Node(float(_NOT_FINITE[name]), at, at + len(name), {}, [])
        if name not in _WORDS:
            self._fail_value(at, name)
        return Node(_WORDS[name], at, at + len(name), {}, [])

    def _number(self, literal: str, at: int) -> int | float:
        if any(mark in literal for mark in ".eE"):
            return JsonFloat(literal)
        try:
            return int(literal)
        except ValueError:  # Python refuses to convert integers of thousands of digits
            self._fail("a number in the document is too long", at)

    def _skip(self, at: int) -> int:
        at = skip_gap(self._text, at)
        if self._text[at : at + 1] == "/" and self._text.startswith("/*", at):
            self._fail("the comment that begins here has no end; close it with */", at)
        return at

    def _fail_value(self, at: int, word: str) -> NoReturn:
        if word in _PYTHON_WORDS:
            self._fail(f"write {_PYTHON_WORDS[word]}", at)
        if word:
            self._fail("text must stand in quotes", at)
        if self._text[at : at + 1] == ",":
            self._fail("a value must stand here; there may be a comma too many", at)
        if self._text[at : at + 1] and self._text[at] in "+-.0123456789":
            self._fail("this is not a number as JSON has them; write 10, -0.5 or 1e6", at)
        self._fail("a value must stand here", at)

    def _fail_in_string(self, start: int, end: int) -> NoReturn:
        if end < len(self._text) and self._text[end] != "\\":
            problem = "a string must not contain a line break or tab; close its quote before this, or write \\n or \\t"
            self._fail(problem, end)
        self._fail("the string that begins here has no closing quote", start)

    def _fail(self, problem: str, at: int) -> NoReturn:
        if at >= len(self._text):
            problem = "the document ends too early; a closing bracket or quote is missing"
        elif self._text[at] == "#":
            problem = "a comment begins with // here"
        raise NotJson(problem, *line_and_column(self._text, at))


_IN_DOUBLE_QUOTES = {"\\'": "'", '"': '\\"'}
_UNICODE_ESCAPE = "\\u must be followed by four hexadecimal digits; write a backslash itself as \\\\"
