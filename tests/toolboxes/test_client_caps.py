"""Which client shows how much of a listing."""

import pytest

from mcp_workbench.toolboxes.client_caps import CAPS, DEFAULT_LIMIT, clients_that_show_less, limit_for


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("Cline", 8_000),
        ("codex-mcp-client", 12_000),
        ("qwen-cli-mcp-client-workbench", 13_000),
        ("copilot-cli", 17_000),
        ("github-copilot-developer", 17_000),
        ("gemini-cli-mcp-client", 40_000),
        ("claude-code", 50_000),
        ("opencode", 110_000),
    ],
)
def test_each_known_client_gets_less_than_it_cuts_at(name: str, most: int) -> None:
    assert limit_for(name) <= most
    assert limit_for(name.upper()) == limit_for(f" {name} ") == limit_for(name)


@pytest.mark.parametrize("name", ["", " ", "cursor-vscode", "my-cline", "clin", None, 5, ["Cline"], {}, "x" * 10**6])
def test_any_other_name_gets_the_default(name: object) -> None:
    assert limit_for(name) == DEFAULT_LIMIT == 40_000


def test_a_known_name_with_a_megabyte_behind_it_is_still_known() -> None:
    assert limit_for("cline" + "x" * 10**6) == limit_for("Cline")


def test_every_figure_says_where_it_comes_from() -> None:
    assert all(cap.source and cap.names and cap.limit > 0 for cap in CAPS)
    assert all(name == name.casefold() for cap in CAPS for name in cap.names)


def test_a_listing_of_a_length_is_too_long_for_the_clients_that_show_less() -> None:
    assert clients_that_show_less(8_000) == []
    assert clients_that_show_less(8_001) == ["Cline"]
    assert clients_that_show_less(10**6) == [cap.client for cap in CAPS]
