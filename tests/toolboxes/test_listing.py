"""What `open_toolbox` answers, and how it is shortened until its client shows all of it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.toolboxes.client_caps import CAPS, limit_for
from mcp_workbench.toolboxes.listing import Contents, Form, Listing, ServerTools, entry, server_tools, write_listing

Json = dict[str, Any]
PLENTY = 10**9


def tool(name: str, description: str = "Does it. And more.", parameters: int = 2) -> Json:
    properties = {f"p{number}": {"type": "string", "description": "A parameter."} for number in range(parameters)}
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


def box(servers: Mapping[str, list[Json]], **more: Any) -> Contents:
    texts = {server: ServerTools("dev", server, tools) for server, tools in servers.items()}
    return Contents("dev", "For tests", texts, len(texts), **more)


def read(listing: Listing) -> Json:
    return json.loads(listing.text)


def test_an_entry_is_the_contracts_and_no_more() -> None:
    sent: Json = {
        **tool("read"),
        "title": "Read",
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "data:,"}],
        "_meta": {"a": 1},
    }
    assert entry("dev", "files", sent) == {
        "name": "read",
        "toolbox_name": "dev",
        "source_server": "files",
        "description": sent["description"],
        "inputSchema": sent["inputSchema"],
    }


@pytest.mark.parametrize("description", [None, ""])
def test_a_title_is_shown_only_without_a_description(description: str | None) -> None:
    sent: Json = {"name": "read", "title": "Read a file", "description": description, "inputSchema": {}}
    assert entry("dev", "files", sent)["title"] == "Read a file"


def test_a_schema_is_passed_on_exactly() -> None:
    schema: Json = {"$schema": "x", "unknownKeyword": [1.0, None, {"z": 1, "a": 2}], "type": ["object"], "title": "T"}
    listing = write_listing(box({"a": [{"name": "t", "inputSchema": schema}]}), Form.FULL, PLENTY)
    assert json.dumps(read(listing)["tools"][0]["inputSchema"]) == json.dumps(schema)


def test_a_full_listing_has_an_entry_for_each_tool_in_order() -> None:
    listing = write_listing(box({"b": [tool("x"), tool("y")], "a": [tool("x")]}), Form.FULL, PLENTY)
    assert [(each["source_server"], each["name"]) for each in read(listing)["tools"]] == [
        ("b", "x"),
        ("b", "y"),
        ("a", "x"),
    ]
    assert list(read(listing)) == ["toolbox", "description", "servers_connected", "tools"]


def test_a_compact_listing_is_a_line_a_tool_grouped_by_server_and_says_how_to_call() -> None:
    listing = read(
        write_listing(box({"b": [tool("x"), tool("y")], "a": [tool("x", parameters=0)]}), Form.SIGNATURES, PLENTY)
    )
    assert listing["tools"] == [
        {
            "toolbox_name": "dev",
            "source_server": "b",
            "signatures": [
                "x(p0?: string /* A parameter */, p1?: string /* A parameter */): Does it. And more.",
                "y(p0?: string, p1?: string): Does it. And more.",
            ],
        },
        {"toolbox_name": "dev", "source_server": "a", "signatures": ["x(): Does it. And more."]},
    ]
    (note,) = listing["_notes"]
    assert '{"tool":{"toolbox":"dev","server":"SOURCE_SERVER","tool":"NAME"},"arguments":{}}' in note
    assert "'dev/SOURCE_SERVER/NAME'" in note


def test_a_server_without_tools_leaves_no_trace_in_the_list() -> None:
    for form in Form:
        assert read(write_listing(box({"a": [], "b": [tool("x")], "c": []}), form, PLENTY))["tools"]
        assert read(write_listing(box({"a": []}), form, PLENTY))["tools"] == []


def test_instructions_notes_and_errors_stand_beside_the_tools() -> None:
    contents = box({"a": [tool("x")]}, instructions={"a": "i" * 5000}, notes=["n"], errors=["e"])
    listing = read(write_listing(contents, Form.FULL, PLENTY))
    assert (listing["_notes"], listing["_errors"]) == (["n"], ["e"])
    assert listing["_instructions"] == {"a": "i" * 2047 + "…"}


LARGE = {
    "small": [tool(f"small{number}") for number in range(3)],
    "large": [tool(f"large{number}", "Long text. " * 60, 8) for number in range(40)],
    "middle": [tool(f"middle{number}", "Some text. " * 10, 4) for number in range(20)],
}


def test_a_listing_that_fits_is_not_touched() -> None:
    full = write_listing(box(LARGE), Form.FULL, PLENTY)
    assert write_listing(box(LARGE), Form.FULL, len(full.text) + len(LARGE)).text == full.text
    assert set(full.forms.values()) == {Form.FULL}


def test_the_largest_server_is_shortened_first_and_the_answer_says_so() -> None:
    full = write_listing(box(LARGE), Form.FULL, PLENTY)
    listing = write_listing(box(LARGE), Form.FULL, len(full.text) - 100)
    assert listing.forms == {"small": Form.FULL, "large": Form.SIGNATURES, "middle": Form.FULL}
    assert "those of 'large' as signatures" in read(listing)["_notes"][-1]
    assert "'dev/SOURCE_SERVER' lists one server alone" in read(listing)["_notes"][-1]


def test_forms_get_shorter_step_by_step_and_every_tool_stays_named() -> None:
    seen: list[Form] = []
    for limit in range(60_000, 2_000, -2_000):
        listing = write_listing(box(LARGE), Form.FULL, limit)
        assert len(listing.text) <= limit
        assert all(each["name"] in listing.text for tools in LARGE.values() for each in tools)
        seen.append(max(listing.forms.values()))
    assert seen == sorted(seen)
    assert set(seen) == set(Form)


@pytest.mark.parametrize("cap", CAPS, ids=lambda cap: cap.client)
@pytest.mark.parametrize("count", [1, 8, 40])
def test_a_listing_stays_below_the_cap_of_every_client(cap: Any, count: int) -> None:
    limit = limit_for(cap.names[0])
    servers = {f"server{number}": LARGE["large"] for number in range(count)}
    contents = box(servers, instructions=dict.fromkeys(servers, "Read this. " * 300), errors=["failed " * 100] * count)
    for form in (Form.FULL, Form.SIGNATURES):
        assert len(write_listing(contents, form, limit).text) <= limit


def test_what_cannot_even_be_named_is_counted() -> None:
    servers = {"odd": [tool("n" * 10**6), tool("fine")], "many": [tool(f"t{number:040}") for number in range(1000)]}
    listing = write_listing(box(servers), Form.FULL, 8_000)
    notes = read(listing)["_notes"]
    assert len(listing.text) <= 8_000
    named = sum(len(group["names"]) for group in read(listing)["tools"])
    assert notes[-1] == f"{1002 - named:,} tools of 'many', 'odd' are not even named: too little room."
    assert named > 50


NASTY = 'line\nbreak \u202eright to left\x00\x1b[31m \ud83d quote" back\\slash' + "x" * 3000


@given(st.lists(st.tuples(st.text(), st.text() | st.just(NASTY)), max_size=8), st.sampled_from(list(Form)))
def test_no_name_or_description_breaks_the_form_or_the_limit(tools: list[tuple[str, str]], form: Form) -> None:
    offered = [tool(name, description) for name, description in tools]
    listing = write_listing(box({"a": offered, 'quo"te': offered}), form, 5_000)
    assert len(listing.text) <= 5_000
    assert list(read(listing)["tools"]) is not None


def test_two_tools_of_one_name_in_two_servers_stay_two() -> None:
    for form in Form:
        tools = read(write_listing(box({"a": [tool("same")], "b": [tool("same")]}), form, PLENTY))["tools"]
        assert [each["source_server"] for each in tools] == ["a", "b"]


def test_texts_are_written_once_for_as_long_as_the_tool_list_lives() -> None:
    tools = ToolList([tool("x")])
    assert server_tools("dev", "a", tools) is server_tools("dev", "a", tools)
    assert server_tools("dev", "a", tools).text(Form.FULL) is server_tools("dev", "a", tools).text(Form.FULL)
    assert server_tools("dev", "a", tools) is not server_tools("dev", "a", ToolList([tool("x")]))
