"""`toolFilters`: which names a list of names and patterns admits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.config.filters import ToolFilters, compiled

TOOLS = ["read_file", "list_files", "delete_file", "delete_all", "a.b", "ä/ü x", "line\nbreak"]


@pytest.mark.parametrize(
    ("filters", "admitted"),
    [
        (None, TOOLS),
        ([], []),
        (["*"], TOOLS),
        (["read_file"], ["read_file"]),
        (["read_file", "*"], TOOLS),
        (["delete_*"], ["delete_file", "delete_all"]),
        (["*_file"], ["read_file", "delete_file"]),
        (["*file*"], ["read_file", "list_files", "delete_file"]),
        (["a?b"], ["a.b"]),
        (["a.?"], ["a.b"]),
        (["????????_???"], []),
        (["!delete_*"], ["read_file", "list_files", "a.b", "ä/ü x", "line\nbreak"]),
        (["*", "!*_*"], ["a.b", "ä/ü x", "line\nbreak"]),
        (["delete_*", "!delete_all"], ["delete_file"]),
        (["!delete_all", "delete_*"], ["delete_file"]),
        (["!*"], []),
        (["[a-z]*", "READ_FILE", "read_fil"], []),
        (["line*"], ["line\nbreak"]),
    ],
)
def test_inclusions_come_first_then_exclusions(filters: list[str] | None, admitted: list[str]) -> None:
    assert [tool for tool in TOOLS if ToolFilters(filters).admits(tool)] == admitted


@pytest.mark.parametrize(
    ("filters", "missing"),
    [
        (None, []),
        ([], []),
        (["*"], []),
        (["read_file", "raed_file", "delete_*", "drop_*", "!delete_al", "!a.b"], ["raed_file", "drop_*", "!delete_al"]),
    ],
)
def test_what_fits_no_tool_is_named_as_written(filters: list[str] | None, missing: list[str]) -> None:
    assert ToolFilters(filters).misses(TOOLS) == missing


@pytest.mark.parametrize(
    ("filters", "everything"), [(None, True), (("*",), True), (("a", "*"), True), (("*", "!a"), False), ((), False)]
)
def test_whether_anything_can_be_left_out(filters: tuple[str, ...] | None, everything: bool) -> None:
    assert compiled(filters).admits_all is everything


def test_many_stars_cost_no_time() -> None:
    assert not ToolFilters(["a" + "*" * 60 + "b"]).admits("a" * 5_000)


@given(name=st.text("ab*?![]", min_size=1), rest=st.text("ab*?![]"))
def test_a_name_without_special_characters_admits_itself_only(name: str, rest: str) -> None:
    if not set(name) & set("*?!"):
        assert ToolFilters([name]).admits(name)
        assert ToolFilters([name]).admits(name + rest) is (rest == "")
