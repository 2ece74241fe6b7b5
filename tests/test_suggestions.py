import pytest

from mcp_workbench.suggestions import closest

TOOLS = ["read_text_file", "list_directory", "convert_time", "current_time"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("convert_tiem", "convert_time"),
        ("Read_Text_File", "read_text_file"),
        ("read_text", "read_text_file"),
        ("directory", "list_directory"),
    ],
    ids=["misspelt", "capitals", "beginning", "only-one-with-it"],
)
def test_the_name_that_was_probably_meant_is_offered(name: str, meant: str) -> None:
    assert closest(name, TOOLS, "tool") == f". Did you mean '{meant}'?"


@pytest.mark.parametrize("name", ["write_file", "time", "x", ""], ids=["unlike", "in-two-names", "short", "empty"])
def test_a_doubtful_guess_is_not_made(name: str) -> None:
    assert closest(name, TOOLS, "tool") == (
        ". Available: 'read_text_file', 'list_directory', 'convert_time', 'current_time'."
    )


def test_two_letters_in_the_wrong_order_are_enough_in_a_short_name() -> None:
    assert closest("dve", ["dev", "ops"], "toolbox") == ". Did you mean 'dev'?"


def test_a_long_list_is_cut_and_an_empty_one_said() -> None:
    assert closest("zzz", [f"tool{number}" for number in range(22)], "tool").endswith("'tool19' and 2 more.")
    assert closest("zzz", [], "tool") == ". There is no tool."
