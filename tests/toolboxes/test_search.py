"""Finding tools by words: what is found first, and queries of every kind."""

from typing import Any

import pytest

from mcp_workbench.toolboxes.search import Document, ToolIndex
from mcp_workbench.toolboxes.words import words


def tool(name: str, description: str = "", **properties: str) -> dict[str, Any]:
    parameters = {key: {"type": "string", "description": text} for key, text in properties.items()}
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": parameters}}


TOOLS = [
    ("github", tool("create_issue", "Open a new issue in a repository", title="Title of the issue")),
    ("github", tool("listPullRequests", "All pull requests of a repository")),
    ("files", tool("create_directory", "Make sure that a directory exists", path="Where it shall be")),
    ("files", tool("read_file", "Complete contents of a file", encoding="Such as UTF-8")),
    ("weather", tool("airqualityforecast", "Two days ahead for a zip code")),
    ("notes", tool("メモを検索", "保存したメモを全文検索する")),
    ("notes", tool("notes.append/line", "Add a line")),
    ("notes", tool("about_me", "A summary of the profile")),
]


def index(tools: list[tuple[str, dict[str, Any]]] = TOOLS) -> ToolIndex:
    return ToolIndex([Document("box", server, definition) for server, definition in tools])


def found(query: str, limit: int = 5) -> list[str]:
    return [document.tool["name"] for document in index().search(query, limit)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create issue", "create_issue"),
        ("creating an issue", "create_issue"),
        ("pull request", "listPullRequests"),
        ("listpullrequests", "listPullRequests"),
        ("please could you make a folder for me", "create_directory"),
        ("reading files", "read_file"),
        ("text encoding", "read_file"),
        ("air quality", "airqualityforecast"),
        ("forecast", "airqualityforecast"),
        ("append", "notes.append/line"),
        ("メモ", "メモを検索"),
        ("全文検索したい", "メモを検索"),
    ],
)
def test_what_is_meant_comes_first(query: str, first: str) -> None:
    assert found(query)[0] == first


@pytest.mark.parametrize("query", ["", "   ", "_-./", "?!", "zzz", "\x00", "🙂"])
def test_a_query_without_a_fitting_word_finds_nothing(query: str) -> None:
    assert found(query) == []


def test_a_query_of_nothing_but_stop_words_is_taken_at_its_words() -> None:
    assert found("about me") == ["about_me"]


@pytest.mark.parametrize("query", ["file*", "(read", "read AND file", '"read" NEAR(2) file', "^.*(a+)+$ read", "read:"])
def test_the_syntax_of_other_searches_means_nothing(query: str) -> None:
    assert "read_file" in found(query)


def test_a_very_long_query_is_a_query_like_any_other() -> None:
    assert found("read the file " + "blah-blah " * 2000)[0] == "read_file"
    assert len(found("create " * 2000, limit=2)) == 2


def test_no_more_than_wanted_and_only_of_those_wanted() -> None:
    assert len(found("repository", limit=1)) == 1
    files = index().search("create", 5, lambda document: document.server == "files")
    assert [document.tool["name"] for document in files] == ["create_directory"]


def test_two_tools_of_one_name_are_both_found_in_the_order_they_came_in() -> None:
    twins = index([("one", tool("ping")), ("two", tool("ping"))])
    assert [document.server for document in twins.search("ping", 5)] == ["one", "two"]


@pytest.mark.parametrize(
    "schema",
    [None, 5, [], {"properties": None}, {"properties": []}, {"properties": {"a": 1}}, {"items": {"items": {}}}],
)
def test_a_schema_of_any_shape_is_searched(schema: Any) -> None:
    odd = index([("s", {"name": "odd", "description": None, "title": 5, "inputSchema": schema})])
    assert [document.tool["name"] for document in odd.search("odd", 5)] == ["odd"]


def test_an_index_of_nothing_finds_nothing() -> None:
    assert index([]).search("anything", 5) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read_text-file.now/then", ["read", "text", "file"]),
        ("getHTTPResponse", ["get", "http", "respons", "gethttprespons"]),
        ("GitHub issues", ["git", "hub", "github", "issu"]),
        ("\uff32\uff25\uff21\uff24", ["read"]),
        ("漢字カナ", ["漢字", "字カ", "カナ"]),
        ("v2 und Größe", ["v2", "und", "grösse"]),
    ],
)
def test_texts_come_apart_where_people_join_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected
