"""Lines and messages: what goes through the codec comes out as it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.jsonrpc import codec

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(st.dictionaries(st.text(), values, max_size=8))
def test_any_message_is_one_line_and_survives_the_way_there_and_back_with_its_key_order(params: dict[str, Any]) -> None:
    message = {**params, "method": "m"}
    line = codec.encode(message)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    returned = codec.decode(line)
    assert returned == message
    assert list(returned) == list(message)


def test_the_text_is_compact_and_leaves_letters_as_they_are() -> None:
    assert codec.compact({"a": [1, "é"], "b": None}) == '{"a":[1,"é"],"b":null}'


def test_half_an_emoji_travels_as_an_escape() -> None:
    line = codec.encode({"method": "cut \ud83d"})
    assert line == b'{"method":"cut \\ud83d"}\n'
    assert codec.decode(line) == {"method": "cut \ud83d"}


def test_numbers_keep_their_kind_and_size() -> None:
    assert codec.encode(codec.decode(b'{"result":[1,1.0,123456789012345678901234567890]}')) == (
        b'{"result":[1,1.0,123456789012345678901234567890]}\n'
    )


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"[]",
        b'"text"',
        b"1",
        b"null",
        b'{"a":',
        b'{"a":1} {"b":2}',
        b'\xff\xfe{"a":1}',
        b'{"a":"\xc3"}',
        b'{"level":"info","msg":"listening","id":3}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=lambda line: repr(line[:20]),
)
def test_a_line_that_is_no_message_is_refused_and_nothing_else_happens(line: bytes) -> None:
    with pytest.raises(codec.Unreadable):
        codec.decode(line)


@given(st.binary())
def test_any_bytes_are_a_message_or_are_refused(line: bytes) -> None:
    try:
        message = codec.decode(line)
    except codec.Unreadable:
        return
    assert repr(message) == repr(json.loads(line))  # NaN is not equal to itself


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999"])
def test_a_number_that_json_cannot_hold_is_read_and_written_as_null(number: bytes) -> None:
    message = codec.decode(b'{"result":[1.5,' + number + b'],"s":"cut \\ud83d","deep":{"n":' + number + b"}}")
    assert codec.encode(message) == b'{"result":[1.5,null],"s":"cut \\ud83d","deep":{"n":null}}\n'


def test_spaces_and_a_carriage_return_around_a_message_do_not_matter() -> None:
    assert codec.decode(b' {"method": 1} \r') == {"method": 1}
