"""What a model reads about the workbench, whatever the config holds."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.config.models import ToolboxConfig
from mcp_workbench.upstream.instructions import instructions, open_toolbox_description, use_tool_description
from mcp_workbench.upstream.parameters import parse_use_tool

LIMIT = 2048

Toolboxes = dict[str, ToolboxConfig]


def toolbox(description: str = "For tests", servers: int = 1) -> ToolboxConfig:
    entries: dict[str, Any] = {f"server-{number}": {"command": "true"} for number in range(servers)}
    return ToolboxConfig.model_validate({"description": description, "mcpServers": entries})


words = st.text(min_size=1).filter(str.strip)
toolboxes = st.dictionaries(
    words | st.text(min_size=200, max_size=400).filter(str.strip),
    st.builds(toolbox, words | st.just("long " * 200), st.integers(0, 3)),
    max_size=40,
)


@given(toolboxes)
def test_the_texts_fit_whatever_the_config_holds(boxes: Toolboxes) -> None:
    assert len(instructions(boxes)) <= LIMIT
    assert len(open_toolbox_description(boxes)) <= LIMIT


@pytest.mark.parametrize("count", [1, 10, 50, 500])
@pytest.mark.parametrize("length", [1, 100, 3000])
@pytest.mark.parametrize("name_length", [4, 60, 3000])
def test_many_long_toolboxes_fit(count: int, length: int, name_length: int) -> None:
    boxes = {f"{number:04}".ljust(name_length, "n"): toolbox("d" * length) for number in range(count)}
    assert len(instructions(boxes)) <= LIMIT
    assert len(open_toolbox_description(boxes)) <= LIMIT


def test_the_description_of_use_tool_fits() -> None:
    assert len(use_tool_description()) <= LIMIT
    assert len(use_tool_description(opens_by_itself=True)) <= LIMIT


def test_use_tool_says_whether_a_toolbox_must_be_open() -> None:
    assert "that open_toolbox has opened" in use_tool_description()
    assert "that open_toolbox has opened" not in use_tool_description(opens_by_itself=True)


@pytest.mark.parametrize("boxes", [{}, {"dev": toolbox()}], ids=["none", "one"])
def test_the_instructions_say_how_in_the_words_agreed(boxes: Toolboxes) -> None:
    assert "Use `open_toolbox` to connect to a toolbox, then `use_tool` to invoke tools." in instructions(boxes)


@pytest.mark.parametrize(
    "text", [instructions({"dev": toolbox()}), use_tool_description()], ids=["instructions", "use_tool"]
)
def test_the_example_call_is_one_that_use_tool_takes(text: str) -> None:
    example = re.search(r'\{"tool": \{.*?\}, "arguments": \{.*?\}\}', text)
    assert example is not None
    reference, arguments = parse_use_tool(json.loads(example.group()))
    assert all((reference.toolbox, reference.server, reference.tool, arguments))


def test_toolboxes_are_listed_in_config_order_with_servers_and_description() -> None:
    boxes = {"zoo": toolbox("Animals", 2), "art": toolbox("Pictures", 1), "empty": toolbox("Nothing yet", 0)}
    assert instructions(boxes).splitlines()[-3:] == [
        "- zoo (2 servers): Animals",
        "- art (1 server): Pictures",
        "- empty (0 servers): Nothing yet",
    ]


def test_a_description_of_several_lines_becomes_one() -> None:
    text = instructions({"dev": toolbox("First line\n\n  - second\r\nthird\tone")})
    assert text.splitlines()[-1] == "- dev (1 server): First line - second third one"


def test_without_toolboxes_it_says_so_and_where_to_add_one() -> None:
    for text in (instructions({}), open_toolbox_description({})):
        assert "No toolbox is configured" in text
        assert "workbench-config.json" in text


def test_descriptions_shrink_before_names_do() -> None:
    boxes = {f"box-{number}": toolbox(f"{number} " + "words " * 100) for number in range(10)}
    text = instructions(boxes)
    for number in range(10):
        assert f"- box-{number} (1 server): {number} words" in text
    assert "…" in text


def test_names_stay_when_there_is_no_room_for_descriptions() -> None:
    boxes = {f"box-{number:02}": toolbox("d" * 400) for number in range(60)}
    listed = instructions(boxes).split("Toolboxes:\n")[1].splitlines()
    assert listed == [f"- box-{number:02}" for number in range(60)]


def test_the_rest_is_counted_when_there_is_no_room_for_names() -> None:
    boxes = {f"a-toolbox-with-a-long-name-{number}": toolbox() for number in range(500)}
    listed = instructions(boxes).split("Toolboxes:\n")[1].splitlines()
    shown, count = listed[:-1], re.match(r"and (\d+) more", listed[-1])
    assert count is not None
    assert shown == [f"- {name}" for name in list(boxes)[: len(shown)]]
    assert len(shown) + int(count.group(1)) == 500
    assert len(shown) > 10


def test_open_toolbox_names_the_toolboxes_itself() -> None:
    text = open_toolbox_description({"dev": toolbox("For code", 2), "ops": toolbox()})
    assert text.startswith(
        "Toolboxes: `dev`, `ops`\n- dev (2 servers): For code\n- ops (1 server): For tests\n\nConnects"
    )


def test_what_some_clients_cut_at_160_characters_still_names_every_toolbox() -> None:
    boxes = {name: toolbox("d" * 1000) for name in ("filesystem", "database", "browser", "calendar", "monitoring")}
    assert all(f"`{name}`" in open_toolbox_description(boxes)[:160] for name in boxes)


def test_open_toolbox_shortens_descriptions_before_it_says_less_of_how_to_use_it() -> None:
    boxes = {f"box-{number}": toolbox(f"{number} " + "words " * 100) for number in range(12)}
    text = open_toolbox_description(boxes)
    assert all(f"- box-{number} (1 server): {number} words" in text for number in range(12))
    assert text.endswith("Safe to call again.")
    names_alone = open_toolbox_description({f"box-{number}": toolbox("d" * 1000) for number in range(60)})
    assert names_alone.count("box-") == 60
    assert names_alone.endswith("Safe to call again.")


def test_open_toolbox_counts_the_toolboxes_it_cannot_name() -> None:
    text = open_toolbox_description({f"toolbox-number-{number}": toolbox() for number in range(500)})
    named = text.count("`toolbox-number-")
    assert f"and {500 - named} more" in text
    assert named > 10
