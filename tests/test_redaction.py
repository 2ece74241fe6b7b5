"""No spelling of a secret survives; ordinary text does."""

import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.redaction import Redactor

AWKWARD = 'p"a/ss\\w ö\tr&d'


def test_every_occurrence_is_replaced() -> None:
    assert Redactor(["s3cret"])("a s3cret, s3crets3cret") == "a ***, ******"


def test_without_secrets_text_is_unchanged() -> None:
    assert Redactor([])("anything") == "anything"


@pytest.mark.parametrize("word", ["", "a", "abc", "    ", "true", "False", "null"])
def test_what_would_blank_ordinary_text_is_not_hidden(word: str) -> None:
    text = f"abc {word} true False null      x"
    assert Redactor([word])(text) == text


def test_four_characters_are_a_secret() -> None:
    assert Redactor(["abcd"])("abcd") == "***"


def test_a_secret_that_begins_with_another_is_replaced_whole() -> None:
    assert Redactor(["token", "token-long"])("token-long token") == "*** ***"


def test_characters_with_a_meaning_in_patterns_are_literal() -> None:
    assert Redactor(["a.c*"])("abcc a.c*") == "abcc ***"


@pytest.mark.parametrize(
    "spelling",
    [
        AWKWARD,
        json.dumps(AWKWARD)[1:-1],
        json.dumps(AWKWARD, ensure_ascii=False)[1:-1],
        json.dumps(AWKWARD).replace("/", "\\/")[1:-1],
        repr(AWKWARD)[1:-1],
        ascii(AWKWARD)[1:-1],
        quote(AWKWARD),
        quote(AWKWARD, safe=""),
        quote(AWKWARD, safe="").replace("%2F", "%2f").replace("%5C", "%5c").replace("%C3%B6", "%c3%b6"),
        quote_plus(AWKWARD),
    ],
)
def test_a_secret_is_known_in_every_spelling(spelling: str) -> None:
    assert Redactor([AWKWARD])(f"<{spelling}>") == "<***>"


def test_each_line_of_a_secret_is_one() -> None:
    redact = Redactor(["-----BEGIN KEY-----\n  MIIEvQIBADANBg\nab\n-----END KEY-----\n"])
    assert redact("read MIIEvQIBADANBg, ab") == "read ***, ab"


def test_the_space_around_a_secret_does_not_protect_it_from_being_found() -> None:
    assert Redactor([" s3cret\n"])("s3cret") == "***"


def test_a_redactor_does_not_show_its_secrets() -> None:
    assert "s3cret" not in repr(Redactor(["s3cret"]))


@settings(deadline=None)
@given(secrets=st.lists(st.text(min_size=4).filter(lambda text: text.strip() == text and "*" not in text), min_size=1))
def test_no_secret_survives_in_any_text(secrets: list[str]) -> None:
    redact = Redactor(secrets)
    for secret in secrets:
        assert secret.lower() in {"true", "none", "null", "false"} or secret not in redact(f"before {secret} after")
