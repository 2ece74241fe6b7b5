"""A tool on one line: what a model reads instead of its schema."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.toolboxes import compact

Json = dict[str, Any]


def tool(properties: Json, required: list[str] | None = None, definitions: Json | None = None) -> Json:
    schema = {"type": "object", "properties": properties, "required": required or [], "$defs": definitions or {}}
    return {"name": "run", "description": "Runs.", "inputSchema": schema}


def signature(properties: Json, required: list[str] | None = None, definitions: Json | None = None) -> str:
    (line,) = compact.lines([tool(properties, required, definitions)])
    assert line.endswith(": Runs.")
    return line.removesuffix(": Runs.")


def parameter(schema: Json) -> str:
    """The type of one required parameter."""
    return signature({"x": schema}, ["x"]).removeprefix("run(x: ").removesuffix(")")


STRING, NUMBER = {"type": "string"}, {"type": "number"}


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (STRING, "string"),
        ({"type": "integer"}, "integer"),
        ({"type": "boolean"}, "boolean"),
        ({}, "any"),
        ({"type": "nonsense"}, "any"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"type": "array", "items": STRING}, "string[]"),
        ({"type": "array"}, "any[]"),
        ({"type": "array", "items": {"anyOf": [STRING, NUMBER]}}, "(string|number)[]"),
        ({"type": "array", "items": {"type": "array", "items": NUMBER}}, "number[][]"),
        ({"type": "array", "prefixItems": [STRING, NUMBER]}, "[string, number]"),
        ({"type": "array", "items": [STRING, NUMBER]}, "[string, number]"),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {"a": STRING, "b": NUMBER}, "required": ["a"]}, "{a: string, b?: number}"),
        ({"properties": {"a": STRING}}, "{a?: string}"),
        ({"type": "array", "items": {"type": "object", "properties": {"a": STRING}}}, "{a?: string}[]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{[key]: integer}"),
        ({"type": "object", "additionalProperties": True}, "{[key]: any}"),
        (
            {"type": "object", "properties": {"a": STRING}, "additionalProperties": NUMBER},
            "{a?: string, [key]: number}",
        ),
        ({"type": "object", "patternProperties": {"^x-": STRING}}, "{['^x-']: string}"),
        ({"enum": ["a", "b", 3, None, True]}, "'a'|'b'|3|null|true"),
        ({"type": "string", "enum": ["it's", 'a "b"', "c\\d\ne"]}, "'it\\'s'|'a \"b\"'|'c\\\\d\\ne'"),
        ({"const": "only"}, "'only'"),
        ({"anyOf": [STRING, NUMBER]}, "string|number"),
        ({"oneOf": [STRING, {"type": "array", "items": STRING}]}, "string|string[]"),
        ({"anyOf": [{"enum": ["a|b"]}, {"enum": ["a|b"]}, STRING]}, "'a|b'|string"),
        ({"allOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}]}, "{a?: string} & {b?: string}"),
        ({"type": "integer", "minimum": 1, "maximum": 20}, "integer(1..20)"),
        ({"type": "integer", "minimum": 0}, "integer(>= 0)"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "number(> 0, <= 1)"),
        ({"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991}, "integer"),
        ({"type": "string", "format": "date-time"}, "string(date-time)"),
        ({"$ref": "https://example.com/schema.json"}, "any"),
        ({"$ref": "#/$defs/missing"}, "any"),
    ],
)
def test_types_are_written_as_in_typescript(schema: Json, written: str) -> None:
    assert parameter(schema) == written


def test_what_may_be_left_out_is_marked_and_defaults_are_shown() -> None:
    properties: Json = {
        "path": {"type": "string", "description": "Where it is."},
        "head": {"type": "integer", "default": 10},
        "mode": {"enum": ["text", "binary"], "default": "text"},
        "tags": {"type": "array", "items": STRING, "default": []},
        "since": {"anyOf": [STRING, {"type": "null"}], "default": None},
    }
    assert signature(properties, ["path"]) == (
        "run(path: string /* Where it is */, head?: integer = 10, mode?: 'text'|'binary' = 'text', "
        "tags?: string[] = [], since?: string)"
    )


def test_a_required_parameter_without_a_schema_is_not_lost() -> None:
    assert signature({}, ["ghost"]) == "run(ghost: any)"


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}, "text", []])
def test_a_tool_without_parameters_has_empty_parentheses(schema: object) -> None:
    assert compact.lines([{"name": "run", "inputSchema": schema}]) == ["run()"]


def test_a_definition_that_is_used_once_stands_where_it_is_used() -> None:
    defs = {"Point": {"type": "object", "properties": {"x": NUMBER}, "required": ["x"]}}
    assert signature({"at": {"$ref": "#/$defs/Point"}}, ["at"], definitions=defs) == "run(at: {x: number})"


def test_a_definition_that_is_used_again_gets_a_name() -> None:
    defs = {"Point": {"type": "object", "properties": {"x": NUMBER}, "required": ["x"]}}
    point = {"$ref": "#/$defs/Point"}
    written = signature({"from": point, "to": {"type": "array", "items": point}}, definitions=defs)
    assert written == "run(from?: Point, to?: Point[]) where Point = {x: number}"


def test_a_definition_that_holds_itself_is_written_once() -> None:
    node = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    written = signature({"tree": {"$ref": "#/$defs/Node"}}, definitions={"Node": node})
    assert written == "run(tree?: Node) where Node = {children?: Node[]}"


def test_a_schema_that_refers_to_itself_as_a_whole_ends() -> None:
    assert signature({"child": {"$ref": "#"}, "other": {"$ref": "#"}}).startswith(
        "run(child?: Root, other?: Root) where"
    )


def test_two_definitions_of_one_name_stay_two() -> None:
    defs = {"A": {"X": {"type": "object", "properties": {"a": STRING}}}, "B": {"X": {"properties": {"b": STRING}}}}
    a, b = {"$ref": "#/$defs/A/X"}, {"$ref": "#/$defs/B/X"}
    written = signature({"p": a, "q": a, "r": b, "s": b}, definitions=defs)
    assert written == "run(p?: X, q?: X, r?: X2, s?: X2) where X = {a?: string}, X2 = {b?: string}"


def test_a_parameter_that_several_tools_share_is_described_at_the_first() -> None:
    path = {"type": "string", "description": "Where it is"}
    other = {"type": "string", "description": "Where it goes"}
    lines = compact.lines([tool({"path": path}), tool({"path": path}), tool({"path": other})])
    assert [line.count("/*") for line in lines] == [1, 0, 1]


def test_long_descriptions_are_cut_after_a_sentence_and_show_it() -> None:
    text = "A sentence of some words. " * 100
    (line,) = compact.lines([{"name": "run", "description": text}])
    assert line.endswith("words. …")
    assert len(line) < 820
    (line,) = compact.lines([tool({"path": {"type": "string", "description": text}})])
    assert "words. … */" in line


def test_the_shorter_form_keeps_names_and_outer_types_and_one_sentence() -> None:
    nested = {"type": "array", "items": {"type": "object", "properties": {"a": STRING}}}
    shown = tool({"edits": {**nested, "description": "Many words."}, "dry": {"type": "boolean", "default": False}})
    shown["description"] = "Edits a file. Returns a diff.\n\nMore."
    assert compact.short_lines([shown]) == ["run(edits?: object[], dry?: boolean = false): Edits a file."]


def test_a_title_stands_in_for_a_missing_description() -> None:
    assert compact.lines([{"name": "run", "title": "Run it", "inputSchema": {}}]) == ["run(): Run it"]


def test_names_that_are_not_plain_words_are_quoted_exactly() -> None:
    odd = "delete all(\n\u202e*/"
    (line,) = compact.lines([{"name": odd, "inputSchema": {"properties": {"my key": STRING, "工具": STRING}}}])
    assert line == f'{json.dumps(odd)}("my key"?: string, 工具?: string)'


def test_no_text_of_a_server_breaks_the_line_or_leaves_its_comment() -> None:
    text = "first\r\nsecond\u2028third \u202ereversed\x1b[31m */ evil: string /*"
    (line,) = compact.lines([{**tool({"x": {"type": "string", "description": text}}), "description": text}])
    assert not re.search("[\x00-\x1f\u2028\u202e]", line)
    assert line.count("*/") == 2  # the end of the comment, and the tool's own text
    assert line.index("*/") > line.index("evil: string")


def test_a_long_enumeration_says_how_many_values_are_missing() -> None:
    assert parameter({"enum": [f"v{number}" for number in range(100)]}).endswith("'v39'|… 60 more values")


def test_a_schema_of_great_depth_is_written_all_the_same() -> None:
    schema: Json = STRING
    for _ in range(300):
        schema = {"anyOf": [{"type": "array", "items": schema}, NUMBER]}
    assert parameter(schema).count("[]") < 30


KEYWORDS = [
    *("type", "properties", "required", "items", "anyOf", "allOf", "enum", "const", "default", "$ref", "$defs"),
    *("additionalProperties", "patternProperties", "prefixItems", "description", "minimum", "maximum", "format"),
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYWORDS),
            inner | st.sampled_from(["#", "#/$defs", "object", "array", "string", ["object", "null"]]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(anything, st.text(), st.none() | st.text())
def test_any_schema_becomes_one_line(schema: object, name: str, description: str | None) -> None:
    offered = {"name": name, "description": description, "inputSchema": schema}
    for lines in (compact.lines([offered]), compact.short_lines([offered])):
        assert len(lines) == 1
        assert lines[0].splitlines() == lines
        assert lines[0].startswith(compact.quoted_name(name))
