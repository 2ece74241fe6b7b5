"""Hidden characters are spelt out, everything else stays as it is."""

import json
import unicodedata

import pytest

from mcp_workbench.hidden_characters import escaped_json, hidden_in, shown, shown_in_line

HIDDEN = {
    "escape": ("\x1b[2J", "\\x1b[2J"),
    "clipboard": ("\x1b]52;c;aGk=\x1b\\", "\\x1b]52;c;aGk=\\x1b\\"),
    "C1 escape": ("\x9b31m", "\\x9b31m"),
    "bell and delete": ("\x07\x7f", "\\x07\\x7f"),
    "carriage return": ("safe\rrm -rf", "safe\\rrm -rf"),
    "bidirectional": ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
    "zero-width": ("a\u200bb\ufeffc\u2060", "a\\u200bb\\ufeffc\\u2060"),
    "line separator": ("a\u2028b", "a\\u2028b"),
    "tags": ("\U000e0041\U000e0062", "\\U000e0041\\U000e0062"),
    "smuggled in variation selectors": ("\U000e0101", "\\U000e0101"),
    "half a character": ("\udc80", "\\udc80"),
    "joiner between letters": ("a\u200db", "a\\u200db"),
    "filler": ("a\u3164b", "a\\u3164b"),
}
HARMLESS = [
    "",
    "plain [red] \\x1b \\u202e",
    "tab\tand\nlines\n",
    "für 日本語 العربية עברית",
    "👨\u200d👩\u200d👧 ❤️\u200d🔥 ✓",
]


@pytest.mark.parametrize(("text", "spelt"), HIDDEN.values(), ids=HIDDEN)
def test_what_steers_a_terminal_or_hides_is_spelt_out(text: str, spelt: str) -> None:
    assert shown(text) == spelt == shown_in_line(text)
    assert hidden_in(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_everything_else_stays_as_it_is(text: str) -> None:
    assert shown(text) == text
    assert hidden_in(text) == []


def test_line_ends_of_windows_are_line_ends() -> None:
    assert shown("a\r\nb") == "a\nb"


def test_in_a_line_there_is_no_line_break() -> None:
    assert shown_in_line("a\nb\tc\r\n") == "a\\nb\\tc\\r\\n"


def test_no_control_or_format_character_gets_through_but_those_that_are_drawn() -> None:
    drawn = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    drawn |= {*range(0x13430, 0x13440), *range(0x1BCA0, 0x1BCA4)}
    others = [
        chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]
    kept = [character for character in others if shown(character) == character and ord(character) not in drawn]
    assert kept == ["\t", "\n"]


@pytest.mark.parametrize("text", [text for text, _ in HIDDEN.values()], ids=HIDDEN)
def test_json_means_the_same_and_shows_nothing_raw(text: str) -> None:
    written = escaped_json(json.dumps({text: [text]}, ensure_ascii=False, indent=2))
    assert json.loads(written) == {text: [text]}
    assert hidden_in(written) == []


def test_each_is_named_once() -> None:
    assert hidden_in("a\u202eb\u202e\x1b") == ["\\u202e", "\\x1b"]
