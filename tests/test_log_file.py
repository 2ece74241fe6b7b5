"""The log file: whole lines, bounded, private, shared by several writers, and read back in order."""

import os
import stat
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.log_file import LogFile, LogReader


def records(path: Path) -> list[Any]:
    with closing(LogReader(path)) as reader:
        return [*reader.new()]


def numbers(path: Path) -> list[Any]:
    return [record["n"] for record in records(path)]


def test_what_is_appended_is_read_back_in_order(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "state" / "log.jsonl")
    log.append([{"n": 1, "text": "é\n\u2028"}])
    log.append([{"n": 2}, {"n": 3}])
    assert records(log.path) == [{"n": 1, "text": "é\n\u2028"}, {"n": 2}, {"n": 3}]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_it_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "state" / "log.jsonl")
    log.append([{"n": 1}])
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700


def test_it_is_bounded_and_keeps_the_newest(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "log.jsonl", max_size=1000)
    for number in range(1000):
        log.append([{"n": number}])
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes.keys() == {"log.jsonl", "log.1.jsonl", "log.2.jsonl", "log.lock"}
    assert sum(sizes.values()) < 3 * 1100
    kept = numbers(log.path)
    assert kept == list(range(kept[0], 1000))
    assert len(kept) > 200


def test_several_writers_lose_no_line_and_tear_none(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"

    def write(writer: int) -> None:
        log = LogFile(path, max_size=30_000)
        for number in range(200):
            log.append([{"n": writer * 1000 + number}])
        log.close()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [writer * 1000 + number for writer in range(4) for number in range(200)]
    assert sorted(numbers(path)) == written


def test_a_writer_goes_on_in_the_new_file_when_another_put_the_old_one_aside(tmp_path: Path) -> None:
    one, other = LogFile(tmp_path / "log.jsonl", max_size=50), LogFile(tmp_path / "log.jsonl", max_size=50)
    one.append([{"n": 1, "text": "x" * 60}])
    other.append([{"n": 2}])
    one.append([{"n": 3}])
    assert numbers(tmp_path / "log.1.jsonl") == [1]
    assert numbers(one.path) == [1, 2, 3]


def test_a_reader_follows_across_a_change_of_the_file(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "log.jsonl", max_size=50)
    reader = LogReader(log.path)
    assert [*reader.new()] == []
    log.append([{"n": 1, "text": "x" * 60}])
    assert [record["n"] for record in reader.new()] == [1]
    log.append([{"n": 2}])
    log.append([{"n": 3}])
    assert [record["n"] for record in reader.new()] == [2, 3]
    assert [*reader.new()] == []
    reader.close()


def test_a_line_that_was_torn_swallows_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": \n[1]\n\xff\n' + b"[" * 5000 + b"\n")
    LogFile(path).append([{"n": 2}])
    assert numbers(path) == [1, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file")
def test_a_disk_that_is_full_is_an_error_of_the_system(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        LogFile(path).append([{"n": 1}])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_a_pipe_in_its_place_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    os.mkfifo(path)
    with pytest.raises(OSError):  # noqa: PT011 - whatever the system calls it
        LogFile(path).append([{"n": 1}])
