"""`mcp-workbench init`: a first config that works at once, and nothing overwritten."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_workbench.commands import init
from mcp_workbench.config.loading import load_config
from mcp_workbench.config.models import StdioServer
from mcp_workbench.errors import WorkbenchError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("WORKBENCH_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", action="append")
    init.add_arguments(parser)
    return init.run(parser.parse_args(arguments))


def test_the_config_loads_without_a_note_and_without_any_variable(here: Path) -> None:
    assert run() == 0
    loaded = load_config(here / "workbench-config.json", {})
    server = loaded.config.toolboxes["example"].servers["example"]
    assert isinstance(server, StdioServer)
    assert (server.command, server.args) == (sys.executable, ("-m", "mcp_workbench.example_server"))
    assert loaded.notes == ()


def test_an_odd_path_of_python_is_written_so_that_it_is_not_expanded(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/${odd}/python")
    run()
    loaded = load_config(here / "workbench-config.json", {})
    server = loaded.config.toolboxes["example"].servers["example"]
    assert isinstance(server, StdioServer)
    assert server.command == "/opt/${odd}/python"


def test_the_next_steps_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run()
    shown = capsys.readouterr().out
    assert "mcp-workbench check --connect" in shown
    assert "mcp-workbench import" in shown


def test_it_goes_where_the_option_or_the_variable_says(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("--config", "new/dir/a.json")
    assert (here / "new/dir/a.json").exists()
    assert "mcp-workbench --config new/dir/a.json check" in capsys.readouterr().out
    monkeypatch.setenv("WORKBENCH_CONFIG", str(here / "b.json"))
    run()
    assert (here / "b.json").exists()
    assert not (here / "workbench-config.json").exists()


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link"])
def test_nothing_that_is_there_is_overwritten(here: Path, kind: str) -> None:
    target = here / "workbench-config.json"
    if kind == "file":
        target.write_text("mine")
    elif kind == "directory":
        target.mkdir()
    else:
        target.symlink_to(here / "nowhere")
    with pytest.raises(WorkbenchError, match="exists, and init overwrites nothing"):
        run()
    assert kind != "file" or target.read_text() == "mine"
    assert list(here.iterdir()) == [target]


def test_a_place_that_cannot_be_written_is_a_clear_failure(here: Path) -> None:
    (here / "file").write_text("")
    with pytest.raises(WorkbenchError, match="cannot be"):
        run("--config", "file/workbench-config.json")


def test_the_whole_command_as_a_person_runs_it(here: Path) -> None:
    command = [sys.executable, "-m", "mcp_workbench", "init"]
    environ = {"HOME": str(here), "PATH": os.environ["PATH"]}
    first = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (first.returncode, first.stderr) == (0, "")
    assert "\x1b" not in first.stdout
    again = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("mcp-workbench: workbench-config.json exists")
