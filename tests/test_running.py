"""The files of running workbenches: one each, and none that was left behind counts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_workbench.running import RunningFile, process_start, running_workbenches


def test_what_a_workbench_writes_is_found_until_it_is_removed(tmp_path: Path) -> None:
    own = RunningFile(tmp_path / "running")
    own.write({"config": ["a"]})
    own.write({"config": ["b"]})
    (found,) = running_workbenches(tmp_path / "running")
    assert (found["pid"], found["config"]) == (os.getpid(), ["b"])
    assert [path.name for path in (tmp_path / "running").iterdir()] == [f"{os.getpid()}.json"]
    own.remove()
    assert [*running_workbenches(tmp_path / "running")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_it_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    RunningFile(tmp_path / "running").write({})
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "running", *(tmp_path / "running").iterdir())]
    assert modes == [0o700, 0o600]


def test_a_process_that_ended_is_not_running(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        began = process_start(process.pid)
        assert began is not None
        assert process_start(process.pid) == began
        (tmp_path / f"{process.pid}.json").write_text(json.dumps({"pid": process.pid, "process": began}))
        assert [found["pid"] for found in running_workbenches(tmp_path)] == [process.pid]
        assert process.stdin is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
        assert process_start(process.pid) is None
    assert process_start(process.pid) is None
    assert [*running_workbenches(tmp_path)] == []
    assert [*tmp_path.iterdir()] == []


def test_another_process_with_the_same_id_is_not_taken_for_the_workbench(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(json.dumps({"pid": os.getpid(), "process": "another boot 1"}))
    assert [*running_workbenches(tmp_path)] == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pid": "x"}', "\xff", "[" * 5000])
def test_a_file_that_makes_no_sense_is_passed_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "1.json").write_text(content, encoding="latin-1")
    assert [*running_workbenches(tmp_path)] == []


def test_a_directory_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert [*running_workbenches(tmp_path / "nowhere")] == []
