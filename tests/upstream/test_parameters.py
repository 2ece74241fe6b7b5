"""The arguments of the two tools: what is taken, and the sentence for everything else."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.errors import InvalidParameters, InvalidToolIdentifier, WorkbenchError
from mcp_workbench.toolboxes.manager import ToolReference
from mcp_workbench.upstream.parameters import (
    CLIENT_KEYS,
    OPEN_TOOLBOX_SCHEMA,
    USE_TOOL_SCHEMA,
    parse_open_toolbox,
    parse_use_tool,
)

TOOL = {"toolbox": "dev", "server": "fs", "tool": "read"}
READ = ToolReference("dev", "fs", "read")


def without(key: str) -> dict[str, Any]:
    return {part: value for part, value in TOOL.items() if part != key}


@pytest.mark.parametrize("name", ["dev", " dev ", "a/b c", "工具", "__proto__"])
def test_a_toolbox_name_is_taken_exactly(name: str) -> None:
    assert parse_open_toolbox({"toolbox_name": name}) == name


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "Invalid parameters: toolbox_name is required"),
        ({"toolbox_name": None}, "Invalid parameters: toolbox_name is required"),
        ({"toolbox_name": ""}, "Invalid parameters: toolbox_name cannot be empty"),
        ({"toolbox_name": " \t\n"}, "Invalid parameters: toolbox_name cannot be empty"),
        ({"toolbox_name": 5}, "Invalid parameters: toolbox_name must be a string"),
        ({"toolbox_name": ["dev"]}, "Invalid parameters: toolbox_name must be a string"),
        ({"toolbox_name": "dev", "extra_field": 1}, "Invalid parameters: Unrecognized key: 'extra_field'"),
        ({"toolbox": "dev"}, "Invalid parameters: Unrecognized key: 'toolbox'"),
        ([], "Invalid parameters: arguments must be an object"),
        ("dev", "Invalid parameters: arguments must be an object"),
        (7, "Invalid parameters: arguments must be an object"),
    ],
)
def test_open_toolbox_says_what_is_wrong(arguments: object, sentence: str) -> None:
    with pytest.raises(InvalidParameters) as error:
        parse_open_toolbox(arguments)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        ({"tool": TOOL}, {}),
        ({"tool": TOOL, "arguments": {}}, {}),
        ({"tool": TOOL, "arguments": None}, {}),
        ({"tool": TOOL, "arguments": {"path": None, "deep": [{"a": 1}]}}, {"path": None, "deep": [{"a": 1}]}),
        ({"tool": TOOL, "arguments": '{"path": "/etc"}'}, {"path": "/etc"}),
        ({"tool": '{"toolbox": "dev", "server": "fs", "tool": "read"}', "arguments": " {} "}, {}),
    ],
)
def test_use_tool_takes_objects_and_text_that_holds_one(arguments: dict[str, Any], own: dict[str, Any]) -> None:
    assert parse_use_tool(arguments) == (READ, own)


@pytest.mark.parametrize("key", CLIENT_KEYS)
def test_a_key_that_a_client_adds_to_every_tool_is_dropped_at_our_own_level(key: str) -> None:
    assert parse_open_toolbox({"toolbox_name": "dev", key: True}) == "dev"
    assert parse_use_tool({"tool": TOOL, "arguments": {key: True}, key: False}) == (READ, {key: True})
    sentence = complaint(parse_use_tool, {"tool": {**TOOL, key: True}})
    assert sentence is not None
    assert sentence.startswith(f"Invalid parameters: Unrecognized key: '{key}'")


WRAPPED: list[tuple[object, dict[str, Any]]] = [
    ({"tool": TOOL, "arguments": {"path": "/etc"}}, {"path": "/etc"}),
    ({"tool": json.dumps(TOOL), "arguments": '{"path": "/etc"}'}, {"path": "/etc"}),
    ({"tool": TOOL, "arguments": {}}, {}),
    ('{"tool": {"toolbox": "dev", "server": "fs", "tool": "read"}, "arguments": {}}', {}),
]
OWN: list[dict[str, Any]] = [
    {"tool": {**TOOL, "tool": "write"}, "arguments": {"path": "/etc"}},
    {"tool": TOOL, "arguments": {}, "more": 1},
    {"tool": TOOL, "arguments": "text"},
    {"tool": TOOL},
    {"arguments": {}},
]


@pytest.mark.parametrize(("arguments", "own"), WRAPPED)
def test_a_call_that_is_wrapped_into_its_own_arguments_is_understood(arguments: object, own: dict[str, Any]) -> None:
    assert parse_use_tool({"tool": TOOL, "arguments": arguments}) == (READ, own)
    assert parse_use_tool({"tool": json.dumps(TOOL), "arguments": arguments}) == (READ, own)


@pytest.mark.parametrize("arguments", OWN)
def test_arguments_that_only_look_like_a_wrapped_call_are_the_tools_own(arguments: dict[str, Any]) -> None:
    assert parse_use_tool({"tool": TOOL, "arguments": arguments}) == (READ, arguments)


@pytest.mark.parametrize("levels", [201, 900, 960, 100_000])
def test_text_that_holds_an_object_nested_too_deep_is_refused_with_a_sentence(levels: int) -> None:
    text = f'{{"a":{"[" * levels}{"]" * levels}}}'
    with pytest.raises(InvalidParameters, match=r"arguments must (not be nested more than 200 levels|be an object)"):
        parse_use_tool({"tool": {"toolbox": "dev", "server": "one", "tool": "echo"}, "arguments": text})


def test_the_schema_says_that_a_tool_may_have_any_arguments() -> None:
    assert USE_TOOL_SCHEMA["properties"]["arguments"]["additionalProperties"] is True


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "Invalid parameters: tool is required"),
        ({"tool": None}, "Invalid parameters: tool is required"),
        ({"tool": "read"}, "Invalid parameters: tool must be an object"),
        ({"tool": ["dev", "fs", "read"]}, "Invalid parameters: tool must be an object"),
        ({"tool": "[1]"}, "Invalid parameters: tool must be an object"),
        ({"tool": "[" * 100_000}, "Invalid parameters: tool must be an object"),
        ({"tool": TOOL, "arguments": "path=/etc"}, "Invalid parameters: arguments must be an object"),
        ({"tool": TOOL, "arguments": "[]"}, "Invalid parameters: arguments must be an object"),
        ({"tool": TOOL, "arguments": []}, "Invalid parameters: arguments must be an object"),
        ({"tool": TOOL, "arguments": 0}, "Invalid parameters: arguments must be an object"),
        ({"tool": TOOL, "arguments": False}, "Invalid parameters: arguments must be an object"),
        ({"tool": TOOL, "path": "/etc"}, "Invalid parameters: Unrecognized key: 'path'"),
        ({"tool": {**TOOL, "path": "/etc"}}, "Invalid parameters: Unrecognized key: 'path'"),
        *(({"tool": without(part)}, f"Invalid tool identifier: {part} is required") for part in TOOL),
        *(({"tool": {**TOOL, part: ""}}, f"Invalid tool identifier: {part} cannot be empty") for part in TOOL),
        *(({"tool": {**TOOL, part: "  "}}, f"Invalid tool identifier: {part} cannot be empty") for part in TOOL),
        *(({"tool": {**TOOL, part: 1}}, f"Invalid tool identifier: {part} must be a string") for part in TOOL),
    ],
)
def test_use_tool_says_what_is_wrong(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises((InvalidParameters, InvalidToolIdentifier)) as error:
        parse_use_tool(arguments)
    assert str(error.value).startswith(sentence)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["{}", '{"toolbox":"a"}', "dev"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["tool", "arguments", "toolbox", "server", "toolbox_name"]) | st.text(max_size=3), inner
        )
    ),
    max_leaves=10,
)


def complaint(parse: Callable[[object], object], arguments: object) -> str | None:
    try:
        parse(arguments)
    except WorkbenchError as error:
        return str(error)
    return None


@given(anything)
def test_any_value_is_taken_or_refused_with_a_sentence(arguments: object) -> None:
    for parse in (parse_open_toolbox, parse_use_tool):
        sentence = complaint(parse, arguments)
        assert sentence is None or sentence.startswith(("Invalid parameters: ", "Invalid tool identifier: "))


@given(st.fixed_dictionaries({"toolbox_name": st.text(min_size=1)}))
def test_what_the_schema_of_open_toolbox_admits_is_taken_unless_it_is_blank(arguments: dict[str, Any]) -> None:
    jsonschema.validate(arguments, OPEN_TOOLBOX_SCHEMA)
    sentence = complaint(parse_open_toolbox, arguments)
    assert sentence is None or not arguments["toolbox_name"].strip()


@given(
    st.fixed_dictionaries(
        {"tool": st.fixed_dictionaries(dict.fromkeys(TOOL, st.text(min_size=1)))},
        optional={"arguments": st.dictionaries(st.text(), anything)},
    )
)
def test_what_the_schema_of_use_tool_admits_is_taken_unless_a_part_is_blank(arguments: dict[str, Any]) -> None:
    jsonschema.validate(arguments, USE_TOOL_SCHEMA)
    sentence = complaint(parse_use_tool, arguments)
    assert sentence is None or not all(part.strip() for part in arguments["tool"].values())


@pytest.mark.parametrize("schema", [OPEN_TOOLBOX_SCHEMA, USE_TOOL_SCHEMA], ids=["open_toolbox", "use_tool"])
def test_the_schemas_are_schemas(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
