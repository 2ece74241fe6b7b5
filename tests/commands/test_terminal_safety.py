"""Nothing that a server or a file says steers the terminal or hides in it, in any command, `--json` included."""

import json
import re
import sys
from pathlib import Path

import pytest

from terminal import Finished, run
from wire import Json, scripted, write_config

pytestmark = pytest.mark.anyio

CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x1b\\"
EVIL = f"before\x1b[2J{CLIPBOARD}\x9b31m\u202egnp\u200b\U000e0041\x07\rafter"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\U000e0000-\U000e007f]")
FORGED = "calm\nmcp-workbench: ERROR: all is lost"

TOOL: Json = {
    "name": f"tool{EVIL}",
    "description": f"does {EVIL}",
    "inputSchema": {"type": "object", "properties": {f"arg{EVIL}": {"enum": [EVIL, "b"]}}},
}


def assert_harmless(done: Finished) -> None:
    for text in (done.out, done.err):
        assert not FORBIDDEN.search(text), repr(text)


async def on(tmp_path: Path, entry: Json, *words: str) -> Finished:
    write_config(tmp_path, {"dev": {"s": entry}})
    return await run(*words, cwd=tmp_path)


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "json"])
class TestWhatAServerSays:
    async def test_in_the_tools_it_lists(self, tmp_path: Path, options: tuple[str, ...]) -> None:
        done = await on(tmp_path, scripted(tools=[TOOL]), "list", "dev", *options)
        assert_harmless(done)
        assert "before\\" in done.out
        if options:
            assert json.loads(done.out)["tools"][0]["name"] == TOOL["name"]

    async def test_in_a_result(self, tmp_path: Path, options: tuple[str, ...]) -> None:
        result: Json = {"content": [{"type": "text", "text": EVIL}, {"type": f"x{EVIL}"}]}
        done = await on(tmp_path, scripted(), "call", "dev", "s", "raw", json.dumps({"result": result}), *options)
        assert_harmless(done)
        assert "before" in done.out
        if options:
            assert json.loads(done.out) == result

    async def test_when_its_tool_fails(self, tmp_path: Path, options: tuple[str, ...]) -> None:
        done = await on(tmp_path, scripted(), "call", "dev", "s", "fail", f"text={EVIL}".replace("\0", ""), *options)
        assert_harmless(done)
        assert "before" in done.out

    async def test_in_an_error(self, tmp_path: Path, options: tuple[str, ...]) -> None:
        done = await on(tmp_path, scripted(), "call", "dev", "s", "error", "code=-32000", f"message={EVIL}", *options)
        assert_harmless(done)
        assert "before" in done.err

    async def test_when_it_dies_before_it_is_ready(self, tmp_path: Path, options: tuple[str, ...]) -> None:
        dying: Json = {"command": sys.executable, "args": ["-c", f"import sys; sys.exit({EVIL!r})"]}
        done = await on(tmp_path, dying, "check", "--connect", *options)
        assert_harmless(done)
        assert "before" in done.out
        assert done.status == 1

    async def test_in_names_of_the_config(self, tmp_path: Path, options: tuple[str, ...]) -> None:
        write_config(tmp_path, {f"box{EVIL}": {f"s{EVIL}": {"command": f"c{EVIL}", "args": [EVIL]}}})
        for command in (("list",), ("check",)):
            assert_harmless(await run(*command, *options, cwd=tmp_path))


async def test_in_its_stderr_it_neither_steers_nor_forges_a_line_of_the_log(tmp_path: Path) -> None:
    noisy = scripted()
    done = await on(
        tmp_path,
        noisy,
        "--log-level",
        "debug",
        "call",
        "dev",
        "s",
        "stderr",
        f"text={EVIL}\n{FORGED}".replace("\0", ""),
    )
    assert_harmless(done)
    assert "stderr: before" in done.err
    assert not [line for line in done.err.splitlines() if line.startswith("mcp-workbench: ERROR")]


async def test_an_error_of_several_lines_forges_no_line_of_the_log(tmp_path: Path) -> None:
    dying: Json = {"command": sys.executable, "args": ["-c", f"import sys; sys.exit({FORGED!r})"]}
    done = await on(tmp_path, dying, "--log-level", "debug", "check", "--connect", "--json")
    assert "ERROR: all is lost" in done.err
    assert not [line for line in done.err.splitlines() if line.startswith("mcp-workbench: ERROR")]
