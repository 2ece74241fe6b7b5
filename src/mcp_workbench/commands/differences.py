"""Two definitions of a tool as a person compares them: line by line, with the words that changed marked."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_MARKS = {"-": "red", "+": "green"}
_LONGEST = 2_000
_CONTEXT = 2


def differences(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """The lines that went away and those that came, some of what stands around them, and a style for each.

    A definition that was too long to be kept is None.
    """
    if before is None or after is None:
        yield "(too long to be kept, so there is nothing to compare)", "yellow"
        return
    for key in dict.fromkeys((*before, *after)):
        old, new = (_lines(definition.get(key)) for definition in (before, after))
        if key == "name" or old == new:
            continue
        yield f"{key}:", "dim"
        yield from _compared(old, new)


def _compared(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for found in difflib.unified_diff(old, new, n=_CONTEXT, lineterm=""):
        if found.startswith(("---", "+++")):
            continue
        if found.startswith("@@"):
            continue
        yield f"{found[0]} {found[1:]}".rstrip(), _MARKS.get(found[0], "")


def _lines(value: object) -> list[str]:
    """A part of a definition in short lines, so that a change of a word does not repeat a page."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part for text in value.splitlines() for part in _sentences(text)]
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True, default=str)
    return [found[:_LONGEST] for found in text.splitlines()]


def _sentences(text: str) -> list[str]:
    return [part[:_LONGEST] for part in re.split(r"(?<=[.!?])\s+", text) if part] or [""]
