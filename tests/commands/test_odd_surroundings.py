"""Commands in places that nobody prepared for them: each ends soon, with a sentence and never with a traceback."""

import json
import os
import shlex
import sys
from pathlib import Path

import anyio
import pytest

from mcp_workbench.config.file_content import read_content
from starting import PROGRAM
from terminal import Finished, environment, run, terminal
from wire import PATIENCE, scripted, write_config

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")]


async def in_shell(script: str, *, cwd: Path) -> Finished:
    """Run a script in which `$WORKBENCH` is the program."""
    with anyio.fail_after(PATIENCE):
        done = await anyio.run_process(
            ["sh", "-c", script], cwd=cwd, env=environment({"WORKBENCH": shlex.join(PROGRAM)}), check=False
        )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


async def test_a_reader_who_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    for command in ("demo", "schema"):
        done = await in_shell(f"$WORKBENCH {command} | head -3", cwd=tmp_path)
        assert (done.status, done.err, len(done.out.splitlines())) == (0, "", 3)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["list", "list --json", "schema", "demo", "check"])
async def test_a_full_disk_is_a_sentence(tmp_path: Path, command: str) -> None:
    write_config(tmp_path, {"dev": {"s": {"command": "x"}}})
    done = await in_shell(f"$WORKBENCH {command} > /dev/full", cwd=tmp_path)
    assert done.err == "mcp-workbench: the output cannot be written: No space left on device\n"
    assert done.status == 1


@pytest.mark.parametrize("command", ["init", "list", "check --connect"])
async def test_a_directory_that_was_deleted_is_a_sentence(tmp_path: Path, command: str) -> None:
    (tmp_path / "gone").mkdir()
    done = await in_shell(f"cd gone && rmdir ../gone && $WORKBENCH {command}", cwd=tmp_path)
    assert done.err.startswith("mcp-workbench: ")
    assert len(done.err.splitlines()) == 1
    assert done.status == 1


async def test_a_closed_stdout_is_no_traceback(tmp_path: Path) -> None:
    write_config(tmp_path, {"dev": {"s": {"command": "x"}}})
    for command in ("list", "list --json", "schema", "check"):
        done = await in_shell(f"$WORKBENCH {command} >&-", cwd=tmp_path)
        assert done.out == ""


@pytest.mark.parametrize("total", [10**400, -(10**400), 1e308, 0])
async def test_progress_of_any_size_is_shown(tmp_path: Path, total: float) -> None:
    write_config(tmp_path, {"dev": {"s": scripted()}})
    words = ["call", "dev", "s", "progress", json.dumps({"n": 1, "total": total})]
    async with terminal(*words, cwd=tmp_path) as shown:
        pass
    assert "progress 1 of " in shown.text
    assert shown.process.returncode == 0


class TestWhatAConfigMayBe:
    async def test_a_pipe_that_nobody_writes_to_is_a_sentence(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mcp_workbench.config.file_content._PATIENCE", 0.01)
        os.mkfifo(tmp_path / "config")
        with pytest.raises(OSError, match="it is a pipe that nobody writes to"):
            read_content(tmp_path / "config")

    async def test_a_pipe_that_somebody_writes_to_is_read_whole(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "config")
        config = json.dumps({"toolboxes": {}, "_comment": "x" * 200_000})
        (tmp_path / "content").write_text(config)
        done = await in_shell("(cat content > config) & $WORKBENCH --config config check", cwd=tmp_path)
        assert done.out.startswith("config is valid")

    async def test_a_device_is_a_sentence(self, tmp_path: Path) -> None:
        done = await run("--config", "/dev/zero", "check", cwd=tmp_path)
        assert done.err.startswith("mcp-workbench: /dev/zero: cannot be read (it is not a file)")
        assert done.status == 1

    async def test_a_key_that_only_looks_like_ours_is_not_ignored(self, tmp_path: Path) -> None:
        lookalike = "".join(chr(ord(letter) + 0xFEE0) for letter in "toolFilters")
        write_config(tmp_path, {"dev": {"s": {"command": "x", lookalike: []}}})
        done = await run("check", cwd=tmp_path)
        assert "did you mean 'toolFilters'?" in done.err
        assert done.status == 1
