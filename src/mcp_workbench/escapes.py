r"""Text with its escapes undone, and where each part of it stood before.

Whatever puts a text into another one escapes it: JSON, programming languages, addresses, HTML, shells, and often
several of them in turn. `unescaped` undoes one level of all of them at once. It judges nothing: where a backslash was
no escape, the result is simply of no use to whoever looks for something in it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

_ESCAPE = re.compile(
    r"""
      (?P<units>(?:\\u[0-9a-fA-F]{4})+)                             # JSON, Go, .NET
    | \\(?:U(?P<wide>[0-9a-fA-F]{8})|u\{(?P<braced>[0-9a-fA-F]{1,6})\})
    | (?P<bytes>(?:\\(?:x[0-9a-fA-F]{2}|[0-3][0-7]{2}))+)
    | (?P<percents>(?:%[0-9a-fA-F]{2})+)
    | &(?:\#(?P<decimal>[0-9]{1,7})|\#[xX](?P<hex>[0-9a-fA-F]{1,6})|(?P<named>amp|lt|gt|quot|apos|nbsp));
    | '(?:"'"|\\')(?P<quote>')                                      # how a shell's '…' holds a '
    | \\(?P<letter>[abefnrtv0])
    | \\(?P<itself>[^a-zA-Z0-9])
    | \x1b\[[0-9;]*(?P<colour>[A-Za-z])
    | (?P<plus>\+)                                                  # a space, in the query of an address
    """,
    re.VERBOSE,
)
_SIGN = re.compile(r"[\\%&'\x1b+]")
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": "\xa0"}
_HIGHEST = 0x10FFFF

_UNIT, _BYTE, _PERCENT = len(r"\u0000"), len(r"\x00"), len("%00")


class Places:
    """Where the parts of an unescaped text stood in the text that it was made of."""

    def __init__(self) -> None:
        self._here: list[int] = []
        self._there: list[int] = []

    def note(self, here: int, there: int) -> None:
        """From this place on, the one text runs beside the other."""
        self._here.append(here)
        self._there.append(there)

    def origin(self, at: int) -> int:
        """The place in the other text where the character at this place, or what came before it, began or ended."""
        index = bisect_right(self._here, at) - 1
        return self._there[index] + at - self._here[index]


def unescaped(text: str) -> tuple[str, Places] | None:
    """Return the text with one level of escapes undone; None where there is none."""
    if not _SIGN.search(text):
        return None
    places, parts, size, at = Places(), [""], 0, 0
    for found in _ESCAPE.finditer(text):
        places.note(size, at)
        parts.append(text[at : found.start()])
        size += found.start() - at
        at = found.start()
        for character, length in _meaning(found):
            places.note(size, at)
            parts.append(character)
            size += len(character)
            at += length
        at = found.end()
    if not at:
        return None
    places.note(size, at)
    return "".join((*parts, text[at:])), places


def _meaning(found: re.Match[str]) -> Iterator[tuple[str, int]]:
    """Each character that an escape stands for, and how much of it does."""
    kind, whole = str(found.lastgroup), found[0]
    said = found[kind]
    match kind:
        case "units":
            decoded = bytes.fromhex(whole.replace("\\u", "")).decode("utf-16-be", "surrogatepass")
            yield from ((each, _UNIT * (1 + (ord(each) > 0xFFFF))) for each in decoded)
        case "bytes":
            codes = bytes(int(code[1:], 16) if code[0] == "x" else int(code, 8) for code in whole.split("\\")[1:])
            yield from _characters(codes, _BYTE)
        case "percents":
            yield from _characters(bytes.fromhex(whole.replace("%", "")), _PERCENT)
        case "decimal" | "hex" | "wide" | "braced":
            code = int(said, 10 if kind == "decimal" else 16)
            yield chr(code) if code <= _HIGHEST else whole, len(whole)
        case "colour":
            yield "", len(whole)
        case "plus":
            yield " ", len(whole)
        case _:
            yield {"named": _NAMED, "letter": _LETTERS}.get(kind, {}).get(said, said), len(whole)


def _characters(codes: bytes, length: int) -> Iterator[tuple[str, int]]:
    """Bytes as text: UTF-8, or what each of them is in Latin-1; and how long each character was, written so."""
    try:
        decoded, width = codes.decode(), True
    except UnicodeDecodeError:
        decoded, width = codes.decode("latin-1"), False
    yield from ((each, length * (len(each.encode()) if width else 1)) for each in decoded)
