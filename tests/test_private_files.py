import os
import stat
import sys
from pathlib import Path

import pytest

from mcp_workbench import private_files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and pipes are POSIX's")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_and_its_directories_are_for_their_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "trust" / "a.json"
    private_files.write_bytes(path, b"{}")
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_a_directory_that_others_could_enter_is_closed(tmp_path: Path) -> None:
    directory = tmp_path / "trust"
    directory.mkdir(mode=0o755)
    private_files.write_bytes(directory / "a.json", b"{}")
    assert mode(directory) == 0o700


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    private_files.write_bytes(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        private_files.write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_every_write_has_a_signature_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert private_files.signature(path) is None
    seen: set[object] = set()
    for text in (b"1", b"2", b"3"):
        private_files.write_bytes(path, text)
        seen.add(private_files.signature(path))
    assert len(seen) == 3


def test_what_is_no_file_of_ours_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    large = tmp_path / "large"
    large.write_bytes(b"12345")
    assert private_files.read_bytes(pipe, 100) is None
    assert private_files.read_bytes(large, 4) is None
    assert private_files.read_bytes(large, 5) == b"12345"
    with pytest.raises(FileNotFoundError):
        private_files.read_bytes(tmp_path / "none", 4)


def test_a_damaged_file_gets_another_name(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{")
    aside = private_files.put_aside(path)
    assert not path.exists()
    assert aside.read_text() == "{"
