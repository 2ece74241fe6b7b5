"""No form of a secret survives; ordinary text does."""

import html
import json
import re
import shlex
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.redaction import Redactor

AWKWARD = "p\"a/ss\\w ö\tr&d+<'\U0001f511x1"


def json_escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def escaped_as_go_does(text: str) -> str:
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)[1:-1])


def escaped_as_dotnet_does(text: str) -> str:
    codes = {sign: f"\\u{ord(sign):04X}" for sign in "\"&'+<>`"}
    upper = re.sub(
        r"\\u[0-9a-f]{4}", lambda found: "\\u" + found[0][2:].upper(), json_escaped(text).replace('\\"', '"')
    )
    return "".join(codes.get(character, character) for character in upper)


def encoded_as_uri_component(text: str) -> str:
    return quote(text, safe="!'()*~-_.")


ESCAPES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "json": json_escaped,
    "json in upper case": lambda text: re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda code: code[0].upper(), json_escaped(text)),
    "json, not only ascii": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json, slashes too": lambda text: json_escaped(text).replace("/", "\\/"),
    "go": escaped_as_go_does,
    "dotnet": escaped_as_dotnet_does,
    "repr": lambda text: repr(text)[1:-1],
    "ascii": lambda text: ascii(text)[1:-1],
    "bytes": lambda text: repr(text.encode())[2:-1],
    "quote": quote,
    "quote, everything": lambda text: quote(text, safe=""),
    "quote in lower case": lambda text: re.sub("%..", lambda code: code[0].lower(), quote(text, safe="")),
    "quote_plus": quote_plus,
    "encodeURIComponent": encoded_as_uri_component,
    "html": html.escape,
    "html as hex": lambda text: "".join(each if each.isalnum() else f"&#x{ord(each):X};" for each in text),
    "html as decimals": lambda text: "".join(each if each.isalnum() else f"&#{ord(each)};" for each in text),
    "shell": shlex.quote,
    "shell, the other way": lambda text: "'" + text.replace("'", "'\\''") + "'",
}


@pytest.fixture(params=list(ESCAPES.values()), ids=list(ESCAPES))
def escape(request: pytest.FixtureRequest) -> Callable[[str], str]:
    return request.param


def bare(text: str) -> str:
    """A text without what quotes it, so that what is left of a secret is easy to see."""
    return re.sub(r"^[\"'\\]*|[\"'\\]*$", "", text)


class TestEveryForm:
    def test_every_occurrence_is_replaced(self) -> None:
        assert Redactor(["s3cret"])("a s3cret, s3crets3cret") == "a ***, ******"

    def test_an_escaped_secret_is_replaced_and_nothing_else(self, escape: Callable[[str], str]) -> None:
        assert bare(Redactor([AWKWARD])(f"<{escape(AWKWARD)}>")[1:-1]) == "***"

    def test_so_is_one_that_is_escaped_twice(self, escape: Callable[[str], str]) -> None:
        for name, outer in ESCAPES.items():  # which quotes are whose is beyond guessing where a shell quotes twice
            secret = (
                AWKWARD.replace("'", "") if "shell" in name or escape is ESCAPES["shell, the other way"] else AWKWARD
            )
            assert "ss" not in Redactor([secret])(outer(escape(secret))), name

    def test_a_secret_that_holds_escapes_is_found_escaped(self) -> None:
        secret = 'x%41"9+z'
        assert Redactor([secret])(f"{json_escaped(secret)} {quote(secret)}") == "*** ***"

    @pytest.mark.parametrize("user", ["", "u", "us", "use", "user"])
    @pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode], ids=["standard", "url-safe"])
    def test_base64_is_found_wherever_the_secret_stands_in_it(
        self, user: str, encode: Callable[[bytes], bytes]
    ) -> None:
        secret = "s3cr\xfft?>~\xffK3y"
        encoded = encode(f"{user}:{secret}:end".encode()).decode()
        shown = Redactor([secret])(f"Authorization: Basic {encoded}")
        assert "***" in shown
        core = encode(secret.encode()).decode()
        assert not any(core[at : at + 4] in shown for at in range(len(core) - 4))
        assert len(encoded) - len(shown.replace("***", "").removeprefix("Authorization: Basic ")) >= len(secret)

    @pytest.mark.parametrize("escape", [str, quote_plus, html.escape])
    def test_escaped_base64_is_found(self, escape: Callable[[str], str]) -> None:
        secret = "\xff\xfe?s3cret>>\xff"
        assert "***" in Redactor([secret])("token=" + escape(b64encode(secret.encode()).decode()))

    def test_hex_is_found_in_either_case(self) -> None:
        digits = "k3y-öf".encode().hex()
        assert Redactor(["k3y-öf"])(f"x{digits}y {digits.upper()}") == "x***y ***"

    def test_each_line_of_a_secret_is_one(self) -> None:
        redact = Redactor(["-----BEGIN KEY-----\n  MIIEvQIBADANBg\nab\n-----END KEY-----\n"])
        assert redact("read MIIEvQIBADANBg, ab") == "read ***, ab"

    def test_the_space_around_a_secret_does_not_protect_it_from_being_found(self) -> None:
        assert Redactor([" s3cret\n"])("s3cret") == "***"

    def test_secrets_that_overlap_are_hidden_whole(self) -> None:
        assert Redactor(["abc123XYZ", "XYZ789def"])("<abc123XYZ789def>") == "<***>"

    def test_a_secret_that_begins_with_another_is_replaced_whole(self) -> None:
        assert Redactor(["token", "token-long"])("token-long token") == "*** ***"

    def test_characters_with_a_meaning_in_patterns_are_literal(self) -> None:
        assert Redactor(["a.c*"])("abcc a.c*") == "abcc ***"

    def test_colours_within_a_line_hide_no_word(self) -> None:
        assert Redactor(["swordfish"])("\x1b[31mswordfish\x1b[0m") == "\x1b[31m***"


class TestWords:
    """A value that could be a word is hidden where it stands as one."""

    def test_ordinary_text_is_left_alone(self) -> None:
        redact = Redactor(["info", "read", "test", "3000", "main"])
        text = "Invalid information: cannot read latest of 13000 domains, test mainly"
        assert redact(text) == text

    def test_settings_that_everybody_has_are_no_secrets(self) -> None:
        text = "info test production read true False null UTF-8 application/json"
        assert Redactor(text.split())(text) == text

    @pytest.mark.parametrize("value", ["swordfish", "MyProject", "us-east", "4711", "/srv/my-data", "correct horse"])
    def test_a_word_is_hidden_as_a_token(self, value: str) -> None:
        redact = Redactor([value])
        for before, after in (("", ""), ("pw=", " "), ('{"pw": "', '"}'), ("https://me:", "@host"), ("%3D", "%26")):
            assert redact(f"{before}{value}{after}") == f"{before}***{after}"
        assert redact(f"a{value}b") == f"a{value}b"

    def test_a_word_is_seen_between_escapes(self) -> None:
        assert (
            Redactor(["swordfish"])(r"line\nswordfish\tend \u0022swordfish\u0022") == r"line\n***\tend \u0022***\u0022"
        )

    @pytest.mark.parametrize(
        "value", ["sk-1a2B3c4D", "hunter2hunter2", "P@ssw0rd", "xKqTzRbWvY", "1234567890123", "a1b2c3"]
    )
    def test_what_looks_like_a_secret_is_hidden_within_words(self, value: str) -> None:
        assert Redactor([value])(f"x{value}y") == "x***y"

    @pytest.mark.parametrize("word", ["", "a", "abc", "    ", "true", "False", "null"])
    def test_what_would_blank_ordinary_text_is_not_hidden(self, word: str) -> None:
        text = f"abc {word} true False null      x"
        assert Redactor([word])(text) == text

    def test_four_characters_are_a_secret(self) -> None:
        assert Redactor(["abcd"])("abcd") == "***"


class TestCutting:
    LONG = "".join(f"{number:x}Qz" for number in range(1300))  # about 5 kB

    @pytest.mark.parametrize("times", [1, 4])
    def test_the_beginning_of_a_text_holds_no_half_of_a_long_secret(self, times: int) -> None:
        redact = Redactor([self.LONG])
        assert redact.beginning(f"key {self.LONG} " * times + "end", 400) == "key *** " * times + "end"

    @pytest.mark.parametrize("before", [0, 395, 100_000])
    def test_a_text_of_any_length_can_be_cut(self, before: int) -> None:
        shown = Redactor([self.LONG]).beginning("x" * before + self.LONG * 200, 400)
        assert shown.startswith("x" * min(before, 400))
        assert "Qz" not in shown
        assert len(shown) <= 400

    def test_a_text_without_secrets_is_cut_where_asked(self) -> None:
        assert Redactor([]).beginning("abcdef" * 100_000, 5) == "abcde"

    @given(before=st.integers(0, 300), after=st.integers(0, 300))
    def test_the_pieces_of_a_text_hold_no_half_of_a_secret(self, before: int, after: int) -> None:
        redact = Redactor(["abc1XYZ2def3"])
        text = "-" * before + "abc1XYZ2def3" + "-" * after
        at = redact.cut(text)
        assert redact(text[:at]) + redact(text[at:]) == redact(text)

    def test_a_long_text_can_be_cut(self) -> None:
        assert Redactor(["abc1XYZ2def3"]).cut("-" * 1000) > 500
        assert Redactor([]).cut("abc") == 3


class TestLearning:
    def test_what_is_learnt_is_hidden_from_then_on(self) -> None:
        redact = Redactor(["first1"])
        assert redact("first1 second2") == "*** second2"
        redact.learn(["second2"])
        assert redact("first1 second2") == "*** ***"

    def test_without_secrets_text_is_unchanged(self) -> None:
        assert Redactor([])("anything\\u0020%20") == "anything\\u0020%20"

    def test_a_redactor_does_not_show_its_secrets(self) -> None:
        assert "s3cret" not in repr(Redactor(["s3cret"]))


secrets = st.text(min_size=4).filter(lambda text: text.strip() == text and "*" not in text)
escapes = st.sampled_from(list(ESCAPES.values()))
likely_secrets = st.text("abcXYZ019-_./+=&%<\"' \\äß€", min_size=8, max_size=40).map(lambda text: f"k1Q{text}z9")


@given(secrets=st.lists(secrets, min_size=1))
def test_no_secret_survives_in_any_text(secrets: list[str]) -> None:
    redact = Redactor(secrets)
    for secret in secrets:
        if redact(secret) != secret:  # not one of the words that nobody hides
            assert secret not in redact(f"before {secret} after")


@given(secret=likely_secrets, escape=escapes, other=st.text(max_size=20))
def test_no_secret_survives_escaped(secret: str, escape: Callable[[str], str], other: str) -> None:
    shown = Redactor([secret])(f"{other} {escape(secret)} {other}")
    assert secret in other or escape(secret) not in shown
    assert "k1Q" in other or "k1Q" not in shown


@given(secret=likely_secrets, before=st.binary(max_size=12), after=st.binary(max_size=12))
def test_no_secret_survives_in_base64(secret: str, before: bytes, after: bytes) -> None:
    encoded = b64encode(before + secret.encode() + after).decode()
    left = Redactor([secret])(encoded).replace("***", "")
    # At either edge a character may hold some bits of the secret and some of its neighbour.
    assert len(left) <= len(b64encode(before)) + len(b64encode(after)) + 4


@given(text=st.text(), hidden=st.lists(secrets))
def test_a_text_without_secrets_is_never_changed(text: str, hidden: list[str]) -> None:
    redact = Redactor(hidden)
    if redact(text) == text:
        assert redact.beginning(text, len(text)) == text
    assert Redactor(["not in there 1x2"])(text) == text
