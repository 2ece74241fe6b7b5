"""A tool's arguments as a person types them."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_workbench.commands.arguments import parse_arguments
from mcp_workbench.errors import WorkbenchError
from wire import Json


def one(text: str, schema: object, **root: Any) -> Any:
    """The value that `x=text` has for an argument of this schema."""
    return parse_arguments([f"x={text}"], {"properties": {"x": schema}, **root})["x"]


def refusal(words: list[str], schema: object) -> str:
    with pytest.raises(WorkbenchError) as refused:
        parse_arguments(words, schema)
    return str(refused.value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "5", "5"),
        ("string", "a=b=c", "a=b=c"),
        ("string", "", ""),
        ("string", '{"a": 1}', '{"a": 1}'),
        ("integer", "-5", -5),
        ("integer", "5.0", 5),
        ("number", "2.5", 2.5),
        ("number", "1e3", 1000.0),
        ("boolean", "true", True),
        ("null", "null", None),
        ("array", "[1, 2]", [1, 2]),
        ("object", '{"a": null}', {"a": None}),
        (["null", "integer"], "null", None),
        (["string", "integer"], "7", 7),
        (["string", "integer"], "seven", "seven"),
    ],
)
def test_a_value_takes_the_type_that_the_schema_gives(kind: Any, text: str, value: object) -> None:
    got = one(text, {"type": kind})
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        ("integer", "2.5", "x must be a whole number, and '2.5' is not"),
        ("integer", "1e400", "x must be a whole number, and '1e400' is not"),
        ("integer", "true", "x must be a whole number, and 'true' is not"),
        ("number", "NaN", "x must be a number, and 'NaN' is not"),
        ("number", "Infinity", "x must be a number, and 'Infinity' is not"),
        ("number", "", "x must be a number, and '' is not"),
        ("boolean", "yes", "x must be true or false, and 'yes' is not"),
        ("array", "a,b", "x must be a JSON list, and 'a,b' is not"),
        ("object", "[1]", "x must be a JSON object, and '[1]' is not"),
        (["integer", "null"], "x", "x must be a whole number or null, and 'x' is not"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_in_plain_words(kind: Any, text: str, sentence: str) -> None:
    assert refusal([f"x={text}"], {"properties": {"x": {"type": kind}}}) == sentence


def test_alternatives_and_references_are_followed() -> None:
    definitions = {"Size": {"type": "integer"}, "a/b": {"type": "string"}}
    assert one("5", {"$ref": "#/$defs/Size"}, **{"$defs": definitions}) == 5
    assert one("5", {"$ref": "#/$defs/a~1b"}, **{"$defs": definitions}) == "5"
    assert one("5", {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]}, **{"$defs": definitions}) == 5
    assert one("null", {"oneOf": [{"type": "string"}, {"type": "null"}]}) is None


def test_a_schema_that_refers_to_itself_is_no_trap() -> None:
    definitions = {"Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "integer"}]}}
    assert one("5", {"$ref": "#/$defs/Loop"}, **{"$defs": definitions}) == 5


def test_without_a_type_the_value_is_json_if_it_reads_like_it() -> None:
    assert one("5", {}) == 5
    assert one("five", {}) == "five"
    assert one("1e400", {}) == "1e400"
    assert one("[1", True) == "[1"
    assert one("[" * 100_000, {}) == "[" * 100_000


def test_a_choice_is_one_of_those_given() -> None:
    assert one("1", {"enum": ["1", "2"]}) == "1"
    assert one("2", {"enum": [1, 2], "type": "integer"}) == 2
    assert refusal(["x=blue"], {"properties": {"x": {"enum": ["red", 5, None]}}}) == "x must be one of red, 5, null"


def test_what_a_tool_does_not_know_is_refused_with_the_closest_name() -> None:
    schema: Json = {"properties": {"path": {}, "limit": {}}}
    assert refusal(["paht=/tmp"], schema) == "the tool has no argument 'paht'. Did you mean 'path'?"
    schema = {"properties": {}, "additionalProperties": False}
    assert refusal(["x=1"], schema) == "the tool has no argument 'x'. There is no argument."


def test_further_arguments_are_typed_by_what_the_schema_says_of_them() -> None:
    schema: Json = {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}
    assert parse_arguments(["b=5"], schema) == {"b": "5"}
    assert parse_arguments(["b=5"], {"properties": {"a": {}}, "additionalProperties": True}) == {"b": 5}


def test_all_missing_arguments_are_named_at_once() -> None:
    schema: Json = {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b", "c"]}
    assert refusal(["b=1"], schema) == "the tool also needs a=…, c=…"
    assert refusal([], schema) == "the tool also needs a=…, b=…, c=…"


def test_a_json_object_is_left_to_the_tool() -> None:
    schema = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert parse_arguments([' {"b": "x"}'], schema) == {"b": "x"}
    assert parse_arguments(["{}"], schema) == {}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["[1]"], "the arguments must be a JSON object"),
        (["{a: 1}"], "the arguments are not JSON: "),
        (['{"a": NaN}'], "the arguments are not JSON: NaN is not a number in JSON"),
        (["{" + '"a":{' * 100_000], "the arguments are not JSON: "),
        (["a"], "'a' is neither key=value nor a JSON object"),
        (["=a"], "'=a' is neither key=value nor a JSON object"),
        (["a=1", "{}"], "'{}' is neither key=value nor a JSON object"),
        (["a=1", "a=2"], "a is given twice"),
    ],
)
def test_words_that_make_no_sense_are_refused(words: list[str], sentence: str) -> None:
    assert refusal(words, {}).startswith(sentence)


KEYS = st.sampled_from(
    ["type", "properties", "required", "enum", "anyOf", "oneOf", "$ref", "additionalProperties", "x"]
)
SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["#/x", "integer", "object"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@example(words=[], schema={"required": [[], {}, 5]})
@given(words=st.lists(st.text(max_size=12) | st.just("x=1"), max_size=3), schema=SCHEMAS)
def test_whatever_is_typed_there_are_arguments_or_a_sentence(words: list[str], schema: object) -> None:
    try:
        arguments = parse_arguments(words, schema)
    except WorkbenchError:
        return
    json.dumps(arguments, allow_nan=False)
