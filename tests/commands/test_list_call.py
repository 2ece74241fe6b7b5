"""`mcp-workbench list` and `call`: look at the toolboxes, and use one tool, with the real program."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from terminal import Finished, assert_none_left, log_of, logging, run, terminal
from wire import Json, logged, read_log, scripted, write_config

pytestmark = pytest.mark.anyio

BOOK: Json = {
    "name": "book",
    "description": "Books a table.\n\nAsk first.",
    "inputSchema": {
        "type": "object",
        "properties": {"people": {"type": "integer"}, "name": {"type": "string"}, "when": {"enum": ["noon", "night"]}},
        "required": ["people"],
    },
}

FIVE_BYTES = base64.b64encode(b"12345").decode()
BLOCKS: dict[str, tuple[Json, str]] = {
    "image": ({"type": "image", "mimeType": "image/png", "data": FIVE_BYTES}, "[image: image/png, 5 bytes]"),
    "audio": ({"type": "audio", "mimeType": "audio/wav", "data": ""}, "[audio: audio/wav, 0 bytes]"),
    "link": ({"type": "resource_link", "uri": "file:///a", "name": "a"}, "[resource: a <file:///a>]"),
    "text": ({"type": "resource", "resource": {"uri": "file:///a", "text": "hello"}}, "hello"),
    "blob": (
        {"type": "resource", "resource": {"uri": "file:///a", "blob": FIVE_BYTES}},
        "[resource: file:///a, unknown type, 5 bytes]",
    ),
    "unknown": ({"type": "novel", "x": 1}, '{"type":"novel","x":1}'),
}


class TestList:
    async def test_toolboxes_and_servers_are_shown_without_starting_any(self, tmp_path: Path) -> None:
        filtered = {"command": "npx", "args": ["-y", "some server"], "toolFilters": ["a", "b"]}
        write_config(tmp_path, {"dev": {"files": logging(tmp_path), "notes": filtered}, "ops": {}})
        done = await run("list", cwd=tmp_path)
        assert "dev (2 servers): The dev toolbox\n" in done.out
        assert "  notes  npx -y 'some server'  (only a, b)\n" in done.out
        assert "ops (0 servers)" in done.out
        assert (done.status, done.err, log_of(tmp_path).exists()) == (0, "", False)

    async def test_no_variable_is_needed_to_list_and_only_that_of_its_server_to_call(self, tmp_path: Path) -> None:
        needy = {"command": "needy", "args": ["${NOT_SET}", "${cmd: no such command}"]}
        write_config(tmp_path, {"dev": {"good": logging(tmp_path, tools=[BOOK]), "needy": needy}})
        listed = await run("list", cwd=tmp_path)
        assert "needy '${NOT_SET}' '${cmd: no such command}'" in listed.out
        assert (listed.status, (await run("call", "dev", "good", "book", "people=2", cwd=tmp_path)).status) == (0, 0)
        failed = await run("call", "dev", "needy", "x", cwd=tmp_path)
        assert failed.status == 1
        assert "'needy' in toolbox 'dev': variable NOT_SET is not set" in failed.err

    async def test_secrets_in_the_command_line_are_hidden(self, tmp_path: Path) -> None:
        write_config(
            tmp_path, {"dev": {"db": {"command": "db", "args": ["--url", "postgres://me:${DB_PASSWORD}@host"]}}}
        )
        for options in ((), ("--json",)):
            done = await run("list", *options, cwd=tmp_path, env={"DB_PASSWORD": "hunter2hunter2"})
            assert "postgres://me:***@host" in done.out
            assert "hunter2" not in done.out + done.err

    async def test_json_describes_the_config(self, tmp_path: Path) -> None:
        config = write_config(tmp_path, {"dev": {"notes": {"command": "npx", "args": ["x"], "toolFilters": []}}})
        done = await run("--config", str(config), "list", "--json", cwd=tmp_path)
        assert json.loads(done.out) == {
            "config": str(config),
            "files": [str(config)],
            "toolboxes": [
                {
                    "name": "dev",
                    "description": "The dev toolbox",
                    "servers": [{"name": "notes", "command": "npx", "args": ["x"], "toolFilters": []}],
                }
            ],
        }

    async def test_an_empty_config_says_what_to_do(self, tmp_path: Path) -> None:
        write_config(tmp_path, {})
        done = await run("list", cwd=tmp_path)
        assert "has no toolbox yet: `mcp-workbench import`" in done.out

    async def test_the_tools_of_a_toolbox_are_shown_with_their_arguments(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {"one": logging(tmp_path, tools=[BOOK]), "two": scripted(tools=[])}})
        done = await run("list", "dev", cwd=tmp_path)
        assert "  book people=integer [name=string] [when=noon|night]\n      Books a table.\n" in done.out
        assert done.out.startswith("dev / one: 1 tool, 217 characters (about 54 tokens)\n")
        assert "dev / two: 0 tools\n" in done.out
        assert (done.status, done.err) == (0, "")
        await assert_none_left(tmp_path)

    async def test_of_a_long_description_the_first_sentence_is_shown(self, tmp_path: Path) -> None:
        tools: list[Json] = [
            {"name": "talk", "description": "Talks about v1.5 of it. " + "And talks. " * 30, "inputSchema": {}},
            {"name": "drone", "description": "on and " * 60, "inputSchema": {}},
        ]
        write_config(tmp_path, {"dev": {"s": scripted(tools=tools)}})
        lines = (await run("list", "dev", cwd=tmp_path)).out.splitlines()
        assert lines[2].strip() == "Talks about v1.5 of it."
        assert lines[4].endswith(" …")

    async def test_names_and_texts_are_not_taken_for_markup(self, tmp_path: Path) -> None:
        odd: Json = {
            "name": "[red]",
            "description": "[bold]loud[/bold] :smile:",
            "inputSchema": {"properties": {"[x]": {}}},
        }
        write_config(tmp_path, {"[dim]": {"[/]": scripted(tools=[odd])}})
        done = await run("list", "[dim]", cwd=tmp_path)
        assert "\n  [red] [[x]=…]\n      [bold]loud[/bold] :smile:\n" in done.out

    async def test_schemas_of_every_shape_can_be_listed(self, tmp_path: Path) -> None:
        schemas: list[Any] = [None, 5, [], {}, {"properties": []}, {"properties": {"a": 1}, "required": "a"}]
        tools = [{"name": f"t{number}", "inputSchema": schema} for number, schema in enumerate(schemas)]
        write_config(tmp_path, {"dev": {"s": scripted(tools=tools)}})
        done = await run("list", "dev", cwd=tmp_path)
        assert [line.strip() for line in done.out.splitlines()[1:]] == ["t0", "t1", "t2", "t3", "t4", "t5 [a=…]"]

    async def test_a_server_that_fails_is_reported_beside_the_others(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {"good": scripted(tools=[BOOK]), "bad": {"command": "no-such-program-x"}}})
        done = await run("list", "dev", cwd=tmp_path)
        assert "book" in done.out
        assert "Failed to connect to server 'bad' in toolbox 'dev': command not found: 'no-such-program-x'" in done.err
        assert done.status == 1

    async def test_json_of_a_toolbox_is_what_open_toolbox_returns(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {"s": scripted(tools=[BOOK])}})
        listing = json.loads((await run("list", "dev", "--json", cwd=tmp_path)).out)
        assert listing["servers_connected"] == 1
        assert listing["tools"][0] == {"toolbox_name": "dev", "source_server": "s", **BOOK}

    async def test_an_unknown_toolbox_gets_the_closest_name(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"production": {}})
        done = await run("list", "prodcution", cwd=tmp_path)
        assert done.err == (
            "mcp-workbench: Toolbox 'prodcution' not found in configuration. Did you mean 'production'?\n"
        )
        assert (done.status, done.out) == (1, "")

    async def test_long_descriptions_are_folded_in_a_terminal(self, tmp_path: Path) -> None:
        wordy: Json = {"name": "talk", "description": "many words " * 30, "inputSchema": {}}
        write_config(tmp_path, {"dev": {"s": scripted(tools=[wordy])}})
        async with terminal("list", "dev", cwd=tmp_path, columns=60) as shown:
            pass
        assert max(map(len, shown.text[shown.text.rindex("dev / s") :].splitlines())) <= 60
        assert shown.is_coloured


async def call(tmp_path: Path, *words: str, server: Json | None = None) -> Finished:
    write_config(tmp_path, {"dev": {"s": server or scripted()}})
    return await run("call", "dev", "s", *words, cwd=tmp_path)


class TestCall:
    async def test_key_value_words_take_the_types_of_the_schema(self, tmp_path: Path) -> None:
        done = await call(tmp_path, "book", "people=2", "name=7", server=logging(tmp_path, tools=[BOOK]))
        assert json.loads(done.out) == {"people": 2, "name": "7"}
        assert (done.status, done.err) == (0, "")
        await assert_none_left(tmp_path)

    async def test_a_json_object_is_sent_as_it_is(self, tmp_path: Path) -> None:
        done = await call(tmp_path, "echo", '{"text": "é", "more": [1, null]}')
        assert json.loads(done.out) == {"text": "é", "more": [1, None]}

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["people=two"], "people must be a whole number, and 'two' is not"),
            (["name=blue"], "the tool also needs people=…"),
            (["people=2", "nmae=blue"], "the tool has no argument 'nmae'. Did you mean 'name'?"),
            (["people=2", "when=tea"], "when must be one of noon, night"),
            (["people"], "'people' is neither key=value nor a JSON object"),
            (["{people: 2}"], "the arguments are not JSON"),
        ],
    )
    async def test_words_that_do_not_fit_are_refused_before_the_call(
        self, tmp_path: Path, words: list[str], sentence: str
    ) -> None:
        done = await call(tmp_path, "book", *words, server=logging(tmp_path, tools=[BOOK]))
        assert sentence in done.err
        assert (done.status, done.out) == (1, "")
        assert read_log(log_of(tmp_path), event="executed") == []

    async def test_only_the_server_that_is_meant_starts(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {"s": scripted(), "other": logging(tmp_path, "other")}})
        done = await run("call", "dev", "s", "add", "a=1", "b=2.5", cwd=tmp_path)
        assert done.out == "3.5\n"
        assert not log_of(tmp_path, "other").exists()

    async def test_json_is_the_result_as_the_server_sent_it(self, tmp_path: Path) -> None:
        result: Json = {
            "content": [{"type": "novel", "x": 1}],
            "structuredContent": {"y": []},
            "_meta": {"z": None},
            "new": 2,
        }
        done = await call(tmp_path, "raw", "--json", json.dumps({"result": result}))
        assert json.loads(done.out) == result

    async def test_the_text_of_a_result_is_not_changed(self, tmp_path: Path) -> None:
        text = "a\tb  \n\n[red]not markup[/] :smile: " + "long " * 60 + "\n"
        result = {"content": [{"type": "text", "text": text}]}
        done = await call(tmp_path, "raw", json.dumps({"result": result}))
        assert done.out == text

    async def test_a_tool_that_says_that_it_failed_makes_the_status_1(self, tmp_path: Path) -> None:
        done = await call(tmp_path, "fail", "text=the disk is full")
        assert (done.status, done.out) == (1, "the disk is full\n")
        assert "The tool says that it failed" in done.err
        assert (await call(tmp_path, "fail", "--json")).status == 1

    @pytest.mark.parametrize(("block", "shown"), BLOCKS.values(), ids=BLOCKS)
    async def test_every_kind_of_content_is_readable(self, tmp_path: Path, block: Json, shown: str) -> None:
        done = await call(tmp_path, "raw", json.dumps({"result": {"content": [block]}}))
        assert done.out == shown + "\n"

    async def test_structured_content_alone_is_shown_and_nothing_is_said_to_be_nothing(self, tmp_path: Path) -> None:
        done = await call(tmp_path, "raw", '{"result": {"content": [], "structuredContent": {"n": 1}}}')
        assert json.loads(done.out) == {"n": 1}
        done = await call(tmp_path, "raw", '{"result": {"content": []}}')
        assert (done.out, done.status) == ("", 0)
        assert "returned nothing" in done.err

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (("dve", "files", "echo"), "Toolbox 'dve' not found in configuration. Did you mean 'dev'?"),
            (("dev", "file", "echo"), "Server 'file' not found in toolbox 'dev'. Did you mean 'files'?"),
            (
                ("dev", "files", "ehco", "odd"),
                "Tool 'ehco' not found in server 'files' (toolbox 'dev'). Did you mean 'echo'?",
            ),
            (("dev", "files", "add", "x=1"), "Tool 'add' not found in server 'files' (toolbox 'dev')"),
        ],
        ids=["toolbox", "server", "tool", "filtered"],
    )
    async def test_an_unknown_name_gets_the_closest_one(
        self, tmp_path: Path, words: tuple[str, ...], sentence: str
    ) -> None:
        write_config(tmp_path, {"dev": {"files": scripted() | {"toolFilters": ["echo"]}}})
        done = await run("call", *words, cwd=tmp_path)
        assert done.err.startswith(f"mcp-workbench: {sentence}")
        assert (done.status, done.out) == (1, "")

    async def test_a_server_that_dies_in_the_call_is_a_sentence_and_status_1(self, tmp_path: Path) -> None:
        done = await call(tmp_path, "crash", "status=7", "stderr=out of memory", server=logging(tmp_path))
        assert done.err.startswith(
            "mcp-workbench: Error executing tool 'crash' in server 's' (toolbox 'dev'): exited with"
        )
        assert "out of memory" in done.err
        assert done.status == 1
        await assert_none_left(tmp_path)

    async def test_a_server_that_cannot_start_is_a_sentence_and_status_1(self, tmp_path: Path) -> None:
        done = await call(tmp_path, "echo", server={"command": sys.executable, "args": ["/no/such/file.py"]})
        assert done.err.startswith(
            "mcp-workbench: Failed to connect to server 's' in toolbox 'dev': exited with status 2"
        )
        assert done.status == 1

    async def test_a_protocol_error_is_a_sentence_and_status_1(self, tmp_path: Path) -> None:
        done = await call(tmp_path, "error", "code=-32000", "message=no such row")
        assert "Error executing tool 'error' in server 's' (toolbox 'dev'): no such row (code -32000)" in done.err
        assert (done.status, done.out) == (1, "")

    async def test_an_address_to_visit_first_is_shown(self, tmp_path: Path) -> None:
        visit = {"elicitations": [{"mode": "url", "url": "https://example.com/sign-in", "elicitationId": "1"}]}
        words = ["code=-32042", "message=sign in first", f"data={json.dumps(visit)}"]
        done = await call(tmp_path, "error", *words)
        assert done.err == "mcp-workbench: sign in first\nhttps://example.com/sign-in\n"
        assert done.status == 1

    @pytest.mark.parametrize("tool", ["ask", "sample", "roots"])
    async def test_a_legacy_server_that_asks_is_refused_and_goes_on(self, tmp_path: Path, tool: str) -> None:
        done = await call(tmp_path, tool)
        ((answer,),) = [entry.values() for entry in json.loads(done.out)]
        assert "The client does not support" in answer["error"]["message"]
        assert done.status == 0

    async def test_a_modern_server_that_asks_is_refused_with_a_sentence(self, tmp_path: Path) -> None:
        done = await call(tmp_path, "ask", server=logging(tmp_path, era="modern"))
        assert "Error executing tool 'ask' in server 's' (toolbox 'dev'): it asked for elicitation" in done.err
        assert (done.status, done.out) == (1, "")
        await assert_none_left(tmp_path)

    async def test_progress_is_told_in_a_terminal_and_nowhere_else(self, tmp_path: Path) -> None:
        assert (await call(tmp_path, "progress", "n=2")).err == ""
        async with terminal("call", "dev", "s", "progress", "n=2", cwd=tmp_path) as shown:
            pass
        assert "progress 1 of 2: step 1\nprogress 2 of 2: step 2\ndone\n" in shown.text

    async def test_ctrl_c_cancels_the_call_and_leaves_no_process(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"dev": {"s": logging(tmp_path)}})
        async with terminal("call", "dev", "s", "slow", cwd=tmp_path) as shown:
            await logged(log_of(tmp_path), event="executed")
            shown.interrupt()
        assert shown.process.returncode == 130
        assert read_log(log_of(tmp_path), event="cancelled", tool="slow")
        await assert_none_left(tmp_path)
