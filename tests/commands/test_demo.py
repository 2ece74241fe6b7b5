"""`mcp-workbench demo`: what a stranger sees first."""

import os
import re
from pathlib import Path

import psutil
import pytest

from terminal import run, terminal
from wire import alive

pytestmark = pytest.mark.anyio


async def test_it_shows_everything_once_without_config_node_or_path(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    env = {"HOME": str(home), "TMPDIR": str(temporary), "PATH": "/nowhere", "WORKBENCH_CONFIG": "/no/such/config"}
    done = await run("demo", cwd=home, env=env)
    assert (done.status, done.err) == (0, "")
    for shown in (
        "It offers two tools, open_toolbox and use_tool",
        'open_toolbox {"toolbox_name": "everyday"}',
        "1 server connected, 5 tools",
        "232.78 celsius",
        "progress 3 of 3: done",
        "Counted down from 3.",
        "All 12 servers connected directly, 60 tools: ",
        "The other 11 servers were never started.",
        "mcp_workbench import",
    ):
        assert shown in done.out or shown in " ".join(done.out.split())
    assert (list(home.iterdir()), list(temporary.iterdir())) == ([], [])


async def test_in_a_terminal_it_is_coloured_and_fits(tmp_path: Path) -> None:
    async with terminal("demo", cwd=tmp_path) as shown:
        pass
    assert shown.process.returncode == 0
    assert shown.is_coloured
    assert max(map(len, shown.text.splitlines())) <= 80


async def test_ctrl_c_ends_it_quietly_and_leaves_nothing(tmp_path: Path) -> None:
    async with terminal("demo", cwd=tmp_path, env={"TMPDIR": str(tmp_path)}) as shown:
        await shown.shows("5 tools:")
        family = psutil.Process(shown.process.pid).children(recursive=True)
        shown.interrupt()
    assert shown.process.returncode == 130
    assert len(family) >= 2, "the workbench and its server were running"
    psutil.wait_procs(family, timeout=5)
    assert not [process for process in family if alive(process)]
    assert os.listdir(tmp_path) == []


async def test_it_shows_the_workbench_winning(tmp_path: Path) -> None:
    shown = " ".join((await run("demo", cwd=tmp_path)).out.split())
    (share,) = re.findall(r"tokens\), (\d+)% of that", shown)
    assert 0 < int(share) < 50


@pytest.mark.parametrize(
    ("env", "command"),
    [({"UV_RUN_RECURSION_DEPTH": "1"}, "uv run --no-dev mcp-workbench"), ({"PATH": "/nowhere"}, "-m mcp_workbench")],
    ids=["uv run", "python -m"],
)
async def test_the_commands_it_ends_with_are_spelt_as_it_was_started(
    tmp_path: Path, env: dict[str, str], command: str
) -> None:
    done = await run("init", cwd=tmp_path, env=env)
    assert f"{command} check --connect" in done.out
