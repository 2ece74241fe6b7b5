"""The command line itself: help, versions, statuses, quiet ends; and what serving must not import."""

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import anyio
import pytest

from mcp_workbench.cli import COMMANDS
from starting import PROGRAM, run_process
from terminal import assert_none_left, environment, logging, run, terminal
from wire import PATIENCE, WireClient, scripted, workbench, write_config

pytestmark = pytest.mark.anyio


class TestHelp:
    async def test_it_names_every_command(self, tmp_path: Path) -> None:
        done = await run("--help", cwd=tmp_path)
        assert all(f"\n    {command}" in done.out for command in COMMANDS)
        assert "Without a command it serves over stdio" in " ".join(done.out.split())
        assert (done.status, done.err) == (0, "")

    @pytest.mark.parametrize("command", COMMANDS)
    async def test_every_command_explains_itself(self, tmp_path: Path, command: str) -> None:
        done = await run(command, "--help", cwd=tmp_path)
        usage, description = done.out.split("\n\n")[:2]
        assert usage.startswith(f"usage: mcp-workbench {command}")
        assert description.rstrip().endswith(".")
        assert (done.status, done.err) == (0, "")

    async def test_the_version_is_the_packages(self, tmp_path: Path) -> None:
        done = await run("--version", cwd=tmp_path)
        assert (done.status, done.out) == (0, f"mcp-workbench {version('mcp-workbench')}\n")


class TestWrongUsage:
    async def test_an_unknown_command_gets_the_closest_one_and_status_2(self, tmp_path: Path) -> None:
        done = await run("chekc", cwd=tmp_path)
        assert "there is no command 'chekc'. Did you mean 'check'?" in done.err
        assert (done.status, done.out) == (2, "")

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (("--no-such-option",), "there is no option '--no-such-option'. Available: "),
            (("list", "--jsn"), "there is no option '--jsn'. Did you mean '--json'?\nTry: mcp-workbench list --help\n"),
            (("list", "a", "b", "c"), "'c' is one word too many\nTry: mcp-workbench list --help\n"),
            (("check", "extra"), "'extra' is one word too many"),
            (("call", "dev"), "missing: SERVER, TOOL"),
            (("check", "--config"), "--config needs a value"),
            (("--log-level", "wraning"), "there is no log level 'wraning'. Did you mean 'warning'?"),
            (("install", "cusror"), "there is no client 'cusror'. Did you mean 'cursor'?"),
            (("demo", "--config", "x"), "there is no option '--config'"),
            (("--config", "x", "demo"), "--config means nothing to demo"),
        ],
        ids=str,
    )
    async def test_anything_else_is_a_line_and_where_to_read_more(
        self, tmp_path: Path, words: tuple[str, ...], sentence: str
    ) -> None:
        done = await run(*words, cwd=tmp_path)
        assert done.err.startswith(f"mcp-workbench: {sentence}")
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 2)

    async def test_a_config_with_the_name_of_a_command_is_no_command(self, tmp_path: Path) -> None:
        write_config(tmp_path, {}).rename(tmp_path / "list")
        done = await run("--config", "list", "check", "--json", cwd=tmp_path)
        assert json.loads(done.out)["config"] == "list"

    async def test_options_are_taken_before_and_after_the_command(self, tmp_path: Path) -> None:
        config = str(write_config(tmp_path, {}).rename(tmp_path / "other.json"))
        before = await run("--config", config, "list", "--json", cwd=tmp_path)
        after = await run("list", "--json", "--config", config, cwd=tmp_path)
        assert before.out == after.out
        assert json.loads(after.out)["config"] == config

    @pytest.mark.parametrize("words", [(), ("check",), ("list",), ("list", "x"), ("call", "a", "b", "c")], ids=str)
    async def test_a_config_that_is_not_there_is_one_sentence(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        done = await run(*words, cwd=tmp_path)
        assert done.err.startswith("mcp-workbench: workbench-config.json: there is no such file;")
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)

    async def test_a_log_level_that_is_none_is_one_sentence(self, tmp_path: Path) -> None:
        done = await run("list", cwd=tmp_path, env={"WORKBENCH_LOG_LEVEL": "loud"})
        assert done.err == "mcp-workbench: WORKBENCH_LOG_LEVEL must be one of debug, info, warning, error\n"
        assert done.status == 1


class TestOutput:
    async def test_commands_log_nothing_unless_they_are_told_to(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"a": {"s": scripted(stderr_at_start="hello from the server\n")}})
        assert (await run("list", "a", cwd=tmp_path)).err == ""
        told = await run("list", "a", "--log-level", "debug", cwd=tmp_path)
        assert "mcp-workbench: DEBUG: a/s: stderr: hello from the server" in told.err

    @pytest.mark.parametrize("words", [("list",), ("list", "a"), ("list", "--json"), ("schema",)], ids=" ".join)
    async def test_a_reader_that_has_seen_enough_is_no_trouble(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        write_config(tmp_path, {"a": {"s": logging(tmp_path)}})
        reader, writer = os.pipe()
        os.close(reader)
        try:
            with anyio.fail_after(PATIENCE):
                done = await run_process([*PROGRAM, *words], cwd=tmp_path, env=environment(), stdout=writer)
        finally:
            os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")
        if "a" in words:
            await assert_none_left(tmp_path)

    async def test_characters_that_the_terminal_lacks_do_not_end_a_command(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"a": {"description": "für alle ✓", "mcpServers": {}}})
        done = await run("list", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
        assert "f\\xfcr alle \\u2713" in done.out
        assert done.status == 0


class TestCtrlC:
    @pytest.mark.skipif(sys.platform == "win32", reason="a process cannot interrupt itself there")
    def test_while_a_command_is_imported_it_ends_at_once_and_quietly(self) -> None:
        # Some importers turn the interrupt into an error of their own, as pydantic does while it builds a model.
        script = """
import os, signal, sys

class Importer:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp_workbench.toolboxes.manager":
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                raise RuntimeError("could not be built")

sys.meta_path.insert(0, Importer())
from mcp_workbench.cli import main
main(["list"])
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=PATIENCE, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")

    def test_who_ignores_interrupts_is_not_interrupted(self, tmp_path: Path) -> None:
        write_config(tmp_path, {})
        script = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from mcp_workbench.cli import main; "
        script += "import atexit; atexit.register(lambda: print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)); "
        script += "main(['list', '--json'])"
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=False
        )
        assert done.stdout.endswith(b"True\n")


class TestServing:
    async def test_in_a_terminal_it_says_what_it_is_and_ends_with_ctrl_c(self, tmp_path: Path) -> None:
        write_config(tmp_path, {"a": {"s": scripted()}})
        async with terminal(cwd=tmp_path) as shown:
            await shown.shows("Ctrl-C ends it.")
            shown.type('{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
            await shown.shows('"result":{}')
            shown.interrupt()
        assert "now serves 1 toolbox of workbench-config.json over stdio" in shown.text
        assert "mcp-workbench install CLIENT" in shown.text
        assert shown.process.returncode == 0

    async def test_to_a_client_it_says_nothing_of_that(self, tmp_path: Path) -> None:
        async with WireClient.spawn(workbench(write_config(tmp_path, {}))) as client:
            await client.request("tools/list")
        assert client.stderr == ""

    def test_it_imports_no_command_and_no_rich(self, tmp_path: Path) -> None:
        script = (
            "import sys\n"
            "from mcp_workbench.cli import main\n"
            f"sys.argv = ['mcp-workbench', '--config', {str(write_config(tmp_path, {}))!r}]\n"
            "try:\n"
            "    main()\n"
            "finally:\n"
            "    print(*(name for name in sys.modules if name.split('.')[0] == 'rich' or '.commands' in name),\n"
            "          'mcp_workbench.upstream.server' in sys.modules, file=sys.stderr)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], input=b"", capture_output=True, timeout=PATIENCE, check=False
        )
        assert done.stderr.split() == [b"True"]

    def test_a_command_is_imported_only_when_it_is_called(self) -> None:
        script = "import sys, mcp_workbench.cli; print([name for name in sys.modules if '.commands' in name])"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=PATIENCE, check=True)
        assert done.stdout == b"[]\n"
