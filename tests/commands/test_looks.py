"""What the commands show at every width: no name vanishes, no word breaks in the middle, and long lists are paged."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mcp_workbench.commands.arguments import describe_values
from mcp_workbench.commands.terminal import line, rows, write_folded
from terminal import run, terminal
from wire import Json, scripted, write_config

WIDTHS = pytest.mark.parametrize("columns", [40, 60, 80, 140])
LONG = "a-toolbox-with-a-rather-long-name"
SERVER = "server-with-a-long-name-too"
ANSWER: Json = {
    "name": "answer_a_question_of_somebody",
    "description": "Answers what somebody wants to know, with several words of explanation. Then more.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "languages": {"type": "array", "items": {"enum": ["de", "fr"]}},
            "depth": {"enum": ["short", "normal", "exhaustive"]},
            "limit": {"type": ["integer", "null"]},
        },
        "required": ["question"],
    },
}


def text_of(columns: int, *shown: Any) -> str:
    out = Console(width=columns, no_color=True, force_terminal=False, highlight=False, emoji=False)
    with out.capture() as captured:
        for each in shown:
            out.print(each)
    return captured.get()


class TestFolding:
    @given(st.text("ab \n", max_size=200), st.integers(20, 60), st.integers(0, 8), st.integers(0, 8))
    def test_words_stay_whole_and_lines_within_the_margins(
        self, text: str, width: int, indent: int, hanging: int
    ) -> None:
        out = Console(width=width + 20, no_color=True, highlight=False)
        with out.capture() as captured:
            write_folded(out, line(text.replace("\n", " ")), indent, hanging)
        written = captured.get()
        assert written.split() == text.split()
        for each in written.splitlines():
            assert len(each) <= width + 20 or len(each.split()) == 1

    def test_rows_that_fit_are_a_table(self) -> None:
        columns = (("toolbox", "left"), ("server", "left"), ("tools", "right"))
        assert text_of(40, rows(Console(width=40), columns, [("dev", "files", "12")])).splitlines() == [
            "toolbox  server  tools",
            "dev      files      12",
        ]

    def test_rows_that_do_not_fit_are_written_below_their_names(self) -> None:
        columns = (("toolbox", "left"), ("server", "left"), ("state", "left"), ("tools", "right"))
        shown = text_of(40, rows(Console(width=40), columns, [(LONG, SERVER, "ready", "12"), ("a", "b")]))
        assert shown.splitlines() == [f"{LONG}/", f"  {SERVER}", "  state ready, tools 12", "a/b"]


@pytest.mark.anyio
class TestEveryWidth:
    @WIDTHS
    async def test_list_shows_every_name_and_word_whole(self, tmp_path: Path, columns: int) -> None:
        write_config(tmp_path, {LONG: {SERVER: scripted(tools=[ANSWER])}})
        async with terminal("list", LONG, cwd=tmp_path, columns=columns, env={"NO_COLOR": "1"}) as shown:
            pass
        shown_last = shown.text[shown.text.rindex(LONG) :]
        words = shown_last.split()
        signature = ["question=string", "[languages=array]", "[depth=short|normal|exhaustive]", "[limit=integer|null]"]
        for word in (LONG, SERVER + ":", ANSWER["name"], *signature, "Answers", "explanation."):
            assert word in words
        assert all(len(row) <= columns or len(row.split()) == 1 for row in shown_last.splitlines())

    @WIDTHS
    async def test_check_shows_every_name_and_figure(self, tmp_path: Path, columns: int) -> None:
        write_config(tmp_path, {LONG: {SERVER: scripted(), "bad": {"command": "no-such-program-anywhere"}}})
        async with terminal("check", "--connect", cwd=tmp_path, columns=columns, env={"NO_COLOR": "1"}) as shown:
            pass
        last = shown.text[shown.text.rindex("is valid") :]
        for word in (LONG, SERVER, "bad", "ready", "failed", "no-such-program-anywhere"):
            assert word in last

    @WIDTHS
    async def test_the_config_is_listed_with_every_word(self, tmp_path: Path, columns: int) -> None:
        entry = {
            "command": "some-program",
            "args": ["--with", "many", "arguments", "and", "/a/long/path/to/a/file.txt"],
        }
        write_config(tmp_path, {LONG: {SERVER: entry}})
        async with terminal("list", cwd=tmp_path, columns=columns, env={"NO_COLOR": "1"}) as shown:
            pass
        assert "Read from" in shown.text
        assert shown.text[shown.text.index(LONG) :].split() == [
            LONG,
            "(1",
            "server):",
            "The",
            LONG,
            "toolbox",
            SERVER,
            "some-program",
            *entry["args"],
        ]


@pytest.mark.anyio
class TestNarrowingAndPaging:
    async def test_only_the_server_that_is_named_is_started_and_shown(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {"one": scripted(tools=[ANSWER]), "two": {"command": "no-such-program"}}})
        done = await run("list", "dev", "one", cwd=tmp_path)
        assert done.out.startswith("dev / one: 1 tool")
        assert (done.status, done.err) == (0, "")

    async def test_an_unknown_server_gets_the_closest_name(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {"files": scripted()}})
        done = await run("list", "dev", "file", cwd=tmp_path)
        assert done.err == "mcp-workbench: Server 'file' not found in toolbox 'dev'. Did you mean 'files'?\n"

    async def test_what_does_not_fit_a_terminal_is_shown_by_the_pager(self, tmp_path: Path) -> None:
        tools: list[Json] = [{"name": f"tool{number}", "inputSchema": {}} for number in range(100)]
        write_config(tmp_path, {"dev": {"s": scripted(tools=tools)}})
        pager = {"PAGER": "sed 's/^/paged: /'"}
        async with terminal("list", "dev", cwd=tmp_path, env=pager) as shown:
            pass
        assert shown.text.count("paged: ") == 101
        write_config(tmp_path, {"dev": {"s": {"command": "x"}}})
        async with terminal("list", cwd=tmp_path, env=pager) as shown:
            pass
        assert "paged" not in shown.text

    async def test_without_a_pager_it_is_shown_all_the_same(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {f"s{number}": {"command": "x"} for number in range(100)}})
        for pager in ("no-such-pager", "", "'"):
            async with terminal("list", cwd=tmp_path, env={"PAGER": pager}) as shown:
                pass
            assert "s99" in shown.text

    async def test_servers_that_are_starting_are_named_in_a_terminal(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {"slowpoke": scripted(hang_at_start=True)}})
        async with terminal("list", "dev", cwd=tmp_path) as shown:
            await shown.shows("starting slowpoke (")
            shown.interrupt()
        assert shown.process.returncode == 130


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "integer"}, "integer"),
        ({"type": ["null", "string"]}, "string|null"),
        ({"enum": ["a", 1, None]}, "a|1|null"),
        ({"const": "x"}, "x"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "array"),
        ({"$ref": "#/$defs/t"}, "number"),
        ({"anyOf": [{"type": "string"}, {"$ref": "#/$defs/t"}]}, "number|string"),
        ({"$ref": "#/$defs/loop"}, "array"),
        ({"enum": list(range(20))}, "0|1|2|3|4|5|6|7|…"),
        ({"enum": ["x" * 100]}, "x" * 39 + "…"),
        ({}, "…"),
        (5, "…"),
    ],
)
def test_what_an_argument_takes_is_said_in_a_word_or_a_few(schema: object, said: str) -> None:
    root: Json = {"$defs": {"t": {"type": "number"}, "loop": {"type": "array", "items": {"$ref": "#/$defs/loop"}}}}
    assert describe_values(schema, root).replace("[]", "") == said.replace("[]", "")
