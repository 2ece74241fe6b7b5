"""Whether arguments fit a schema: judged only where that is certain, in bounded time, without asking anybody."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import ArgumentsDoNotFit
from mcp_workbench.jsonrpc.codec import LongInteger
from mcp_workbench.toolboxes.argument_check import ArgumentCheck, check_arguments

Json = dict[str, Any]

READ: Json = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "head": {"type": "integer"},
        "edits": {"type": "array", "items": {"type": "object", "required": ["old"], "properties": {"old": {}}}},
        "mode": {"enum": ["text", "binary"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def problems(schema: Json, arguments: Json) -> list[str]:
    return ArgumentCheck(schema).problems(arguments)


def test_arguments_that_fit_have_no_problems() -> None:
    assert problems(READ, {"path": "/etc", "head": 3, "edits": [{"old": 1}], "mode": "text"}) == []


def test_every_problem_is_named_with_its_place() -> None:
    assert problems(READ, {"head": "x", "edits": [{"old": 1}, {}], "mode": "odd", "more": 1}) == [
        "arguments: 'path' is a required property",
        "arguments: Additional properties are not allowed ('more' was unexpected)",
        "arguments.head: 'x' is not of type 'integer'",
        "arguments.mode: 'odd' is not one of ['text', 'binary']",
        "arguments.edits[1]: 'old' is a required property",
    ]


def test_long_values_and_many_problems_are_cut() -> None:
    (problem,) = problems({"properties": {"a": {"type": "integer"}}}, {"a": "x" * 1_000_000})
    assert len(problem) < 400
    many = problems({"additionalProperties": {"type": "integer"}}, {f"k{number}": "x" for number in range(100)})
    assert len(many) == 11
    assert many[-1] == "and 90 more problems"


@pytest.mark.parametrize("definitions", ["$defs", "definitions"])
def test_references_inside_the_schema_are_followed(definitions: str) -> None:
    schema = {
        "type": "object",
        "properties": {"point": {"$ref": f"#/{definitions}/point"}, "again": {"$ref": "#"}},
        definitions: {"point": {"type": "object", "required": ["x"]}},
    }
    assert problems(schema, {"point": {"x": 1}, "again": {"point": {"x": 1}}}) == []
    assert problems(schema, {"again": {"point": {}}}) == ["arguments.again.point: 'x' is a required property"]


UNJUDGED: dict[str, Json] = {
    "a type that is none": {"type": "objekt"},
    "required that is no list": {"type": "object", "required": "path"},
    "a reference elsewhere": {"properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}},
    "a reference to a file": {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
    "a reference to nothing": {"properties": {"a": {"$ref": "#/$defs/none"}}},
    "a reference to itself": {"$ref": "#"},
    "an unknown draft": {"$schema": "http://127.0.0.1:1/draft", "properties": {"a": {"$ref": "other"}}},
    "a pattern of another language": {"properties": {"a": {"type": "string", "pattern": r"^\p{L}+$"}}},
    "a pattern that never ends": {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
    "patterns for names": {"patternProperties": {"^b": {}}, "additionalProperties": False},
    "doubling": {
        "$ref": "#/$defs/d0",
        "$defs": {
            **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)},
            "d60": {"type": "string"},
        },
    },
    "deep": {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}},
}


@pytest.mark.parametrize("schema", UNJUDGED.values(), ids=UNJUDGED)
def test_what_cannot_be_judged_blocks_no_call(schema: Json) -> None:
    assert problems(schema, {"a": "a" * 40 + "!"}) == []


def test_an_integer_that_is_too_long_for_python_is_not_mistaken_for_something_else() -> None:
    schema = {"properties": {"n": {"type": "integer"}}}
    assert problems(schema, {"n": LongInteger("9" * 5000)}) == []


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "required", "$ref", "items"]), st.text() | st.none()),
    st.dictionaries(st.text(), st.text() | st.integers()),
)
def test_no_schema_makes_the_check_raise(schema: Json, arguments: Json) -> None:
    assert isinstance(problems(schema, arguments), list)


def test_the_error_names_the_problems_and_gives_the_whole_schema() -> None:
    tools = ToolList([{"name": "read", "inputSchema": READ}, {"name": "odd", "inputSchema": 5}, {"name": "none"}])
    with pytest.raises(ArgumentsDoNotFit) as error:
        check_arguments("dev", "files", tools, "read", {})
    first, second, third = str(error.value).split("\n")
    assert first == "Invalid arguments for tool 'read' in server 'files' (toolbox 'dev'), so it was not called:"
    assert second == "- arguments: 'path' is a required property"
    assert third.startswith('Its inputSchema: {"type":"object","properties":{"path":{"type":"string"}')
    check_arguments("dev", "files", tools, "read", {"path": "x"})
    for unjudged in ("odd", "none", "absent"):
        check_arguments("dev", "files", tools, unjudged, {})
