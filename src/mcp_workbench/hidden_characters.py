r"""Characters that steer a terminal or hide from a reader, and how text that holds them is shown all the same.

What a server, a config file or another program's file says may hold escape sequences, which a terminal would obey, or
characters that reorder or hide text. Before any of it is written for a person it goes through `shown`, which spells
them out: `\x1b`, `\u202e`. Nothing else is changed.
"""

import re

_RANGES = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # C0 but for tab and newline, DEL, C1: escape sequences begin with one of these
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # drawn as nothing at all
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # reorder what stands around them
    "\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # zero-width, line separators, fillers
    "\ud800-\udfff"  # half a character: no terminal can be sent it
    "\U0001d173-\U0001d17a\U000e0000-\U000e01ef"  # musical controls, tags and variation selectors that spell out text
)
_EMOJI = "\u2190-\u2bff\U0001f000-\U0001faff\ufe0f"

HIDDEN = re.compile(f"(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])|([{_RANGES}])")
"""Finds hidden characters as group 1. A joiner between two emoji, which makes one of them, is found without a group."""

_BREAKS = re.compile(r"[\n\t]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown(text: str) -> str:
    """Return the text with every hidden character spelt out; lines and tabs stay as they are."""
    return HIDDEN.sub(_spelt, text.replace("\r\n", "\n"))


def shown_in_line(text: str) -> str:
    """Return the text as `shown` does, in one line: a name that holds a line break must not look like two lines."""
    return _BREAKS.sub(lambda found: _NAMED[found[0]], HIDDEN.sub(_spelt, text))


def hidden_in(text: str) -> list[str]:
    """Return the hidden characters of a text, each once and spelt out, in the order of their first appearance."""
    return list(dict.fromkeys(_code(found[1]) for found in HIDDEN.finditer(text) if found[1]))


def escaped_json(text: str) -> str:
    """Return JSON text with its hidden characters as JSON escapes: the same value, safe to look at."""
    return HIDDEN.sub(lambda found: _json_escape(found[1]) if found[1] else found[0], text)


def _spelt(found: re.Match[str]) -> str:
    return _code(found[1]) if found[1] else found[0]


def _code(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
