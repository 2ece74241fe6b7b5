"""Files that belong to somebody else are replaced whole or not at all, and stay theirs."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

from mcp_workbench.clients import safe_write
from mcp_workbench.clients.safe_write import FileProblem, read_text, remove_file, replace_text, write_private
from mcp_workbench.file_lock import FileBusy, locked

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX's files and signals")
as_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away")
OTHER_USER = 12345


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.json"
    path.write_text("old")
    return path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


class TestTheNewTextTakesTheOldOnesPlace:
    def test_the_old_text_is_kept_in_a_backup_with_the_same_mode(self, file: Path) -> None:
        file.chmod(0o640)
        backup = replace_text(file, "old", "new")
        assert backup is not None
        assert (file.read_text(), backup.read_text()) == ("new", "old")
        assert [stat.S_IMODE(path.stat().st_mode) for path in (file, backup)] == [0o640, 0o640]
        assert names(file.parent) == sorted([file.name, backup.name])

    def test_two_changes_in_one_second_keep_two_backups(self, file: Path) -> None:
        backups = [replace_text(file, "old", "2"), replace_text(file, "2", "3")]
        assert [backup and backup.read_text() for backup in backups] == ["old", "2"]

    def test_a_backup_is_kept_unless_it_is_not_wanted(self, file: Path) -> None:
        assert replace_text(file, "old", "new", backup=False) is None
        assert names(file.parent) == [file.name]

    def test_a_link_stays_a_link_and_its_target_changes(self, tmp_path: Path) -> None:
        target, link = tmp_path / "dotfiles" / "f.json", tmp_path / "f.json"
        target.parent.mkdir()
        target.write_text("old")
        link.symlink_to(target)
        replace_text(link, "old", "new")
        assert link.is_symlink()
        assert target.read_text() == "new"

    def test_a_file_with_two_names_keeps_both(self, file: Path) -> None:
        other = file.with_name("other")
        other.hardlink_to(file)
        backup = replace_text(file, "old", "something longer")
        assert backup is not None
        assert (other.read_text(), backup.read_text()) == ("something longer", "old")
        replace_text(file, "something longer", "short")
        assert (other.read_text(), os.path.samefile(file, other)) == ("short", True)

    def test_line_ends_and_a_byte_order_mark_are_read_and_written_as_they_are(self, file: Path) -> None:
        file.write_bytes(b"\xef\xbb\xbfa\r\nb\n")
        text = read_text(file)
        assert text == "\ufeffa\r\nb\n"
        replace_text(file, text, text + "c\r\n")
        assert file.read_bytes() == b"\xef\xbb\xbfa\r\nb\nc\r\n"

    @posix
    def test_a_new_file_is_for_its_owner_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "new" / "f.json"
        replace_text(file, None, "text")
        assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("text", 0o600)

    @posix
    def test_a_private_file_lies_in_a_private_directory(self, tmp_path: Path) -> None:
        file = tmp_path / "data" / "kept" / "f.json"
        write_private(file, "secret")
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (file.parent.parent, file.parent, file)]
        assert (file.read_text(), modes) == ("secret", [0o700, 0o700, 0o600])
        write_private(file, "another")
        assert (file.read_text(), names(file.parent)) == ("another", ["f.json"])


@as_root
class TestRootLeavesFilesTheirOwners:
    def test_a_replaced_file_and_its_backup_belong_to_whom_the_file_belonged(self, file: Path) -> None:
        os.chown(file, OTHER_USER, OTHER_USER + 1)
        file.chmod(0o640)
        backup = replace_text(file, "old", "new")
        assert backup is not None
        for path in (file, backup):
            state = path.stat()
            assert (state.st_uid, state.st_gid, stat.S_IMODE(state.st_mode)) == (OTHER_USER, OTHER_USER + 1, 0o640)

    def test_a_new_file_belongs_to_whom_its_directory_belongs(self, tmp_path: Path) -> None:
        os.chown(tmp_path, OTHER_USER, OTHER_USER)
        file = tmp_path / "made" / "f.json"
        replace_text(file, None, "text")
        assert [path.stat().st_uid for path in (file.parent, file)] == [OTHER_USER] * 2

    def test_a_file_whose_owner_cannot_be_kept_is_written_in_place(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.chown(file, OTHER_USER, OTHER_USER)
        number = file.stat().st_ino

        def refuse(*_: object) -> NoReturn:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "chown", refuse)
        replace_text(file, "old", "newer")
        assert (file.read_text(), file.stat().st_uid, file.stat().st_ino) == ("newer", OTHER_USER, number)


class TestNothingIsLostWhenItFails:
    def test_a_failed_write_says_why_and_leaves_no_other_file(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(source: str, target: str) -> NoReturn:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(FileProblem, match="cannot be written: no space left on device"):
            replace_text(file, "old", "new")
        assert (file.read_text(), names(file.parent)) == ("old", [file.name])

    @posix
    @pytest.mark.parametrize("linked", [False, True], ids=["by replacing", "in place"])
    def test_a_disk_that_is_full_leaves_the_file_as_it_was_and_no_backup(self, file: Path, linked: bool) -> None:
        if linked:
            file.with_name("other").hardlink_to(file)
        before = names(file.parent)
        # The largest file that may be written is a limit that the system enforces as it does a full disk.
        code = (
            "import resource, sys; from pathlib import Path\n"
            "from mcp_workbench.clients.safe_write import FileProblem, replace_text\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
            "try: replace_text(Path(sys.argv[1]), 'old', 'x' * 5000)\n"
            "except FileProblem as error: print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=60, check=True
        )
        assert "cannot be written: file too large" in done.stdout
        assert (file.read_text(), names(file.parent)) == ("old", before)

    @posix
    @pytest.mark.parametrize("linked", [False, True], ids=["by replacing", "in place"])
    def test_ctrl_c_at_any_moment_leaves_the_old_file_or_the_new_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
    ) -> None:
        monkeypatch.setattr(os, "fsync", os.fstat)  # hundreds of runs: waiting for the disk proves nothing here

        def attempt(number: int) -> bool:
            directory = tmp_path / str(number)
            directory.mkdir()
            file = directory / "f"
            file.write_text("old")
            if linked:
                (tmp_path / f"other{number}").hardlink_to(file)
            came = _interrupted_after(number, lambda: replace_text(file, "old", "new"))
            left = {path.name: path.read_text() for path in directory.iterdir()}
            backups = [text for name, text in left.items() if name.endswith(".bak")]
            assert left["f"] in {"old", "new"}
            assert backups == (["old"] if left["f"] == "new" else [])
            assert len(left) == 1 + len(backups)
            return came

        assert attempt(1)
        moments = next(number for number in range(2, 2000) if not attempt(number))
        assert moments > 20

    def test_a_file_that_changed_in_the_meantime_is_left_alone(self, file: Path) -> None:
        with pytest.raises(FileProblem, match="changed by another program"):
            replace_text(file, "older", "new")
        assert (file.read_text(), names(file.parent)) == ("old", [file.name])

    @pytest.mark.parametrize("linked", [False, True], ids=["by replacing", "in place"])
    def test_a_file_that_changes_while_its_copy_is_made_is_left_alone(
        self, file: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
    ) -> None:
        if linked:
            file.with_name("other").hardlink_to(file)
        before = names(file.parent)
        fill = safe_write._fill  # pyright: ignore[reportPrivateUsage] - the moment at which another program writes

        def fill_and_meddle(descriptor: int, text: str) -> None:
            fill(descriptor, text)
            file.write_text("theirs")

        monkeypatch.setattr(safe_write, "_fill", fill_and_meddle)
        with pytest.raises(FileProblem, match="changed by another program"):
            replace_text(file, "old", "new")
        assert (file.read_text(), names(file.parent)) == ("theirs", before)

    def test_a_file_that_appeared_in_the_meantime_is_left_alone(self, file: Path) -> None:
        with pytest.raises(FileProblem):
            replace_text(file, None, "new")
        assert file.read_text() == "old"

    def test_only_the_file_that_was_read_is_deleted(self, file: Path) -> None:
        with pytest.raises(FileProblem, match="it was not deleted"):
            remove_file(file, "another")
        remove_file(file, "old")
        assert names(file.parent) == []


class TestWhatCannotBeRead:
    def test_a_directory_and_another_encoding_are_said_to_be_what_they_are(self, tmp_path: Path) -> None:
        with pytest.raises(FileProblem, match="cannot be read: is a directory"):
            read_text(tmp_path)
        file = tmp_path / "f.json"
        file.write_bytes("{}".encode("utf-16"))
        with pytest.raises(FileProblem, match="not UTF-8"):
            read_text(file)

    @posix
    def test_a_pipe_is_refused_at_once(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(FileProblem, match="it is not an ordinary file"):
            read_text(pipe)
        with pytest.raises(FileProblem, match="it is not an ordinary file"):
            replace_text(pipe, "", "text")

    @posix
    def test_a_device_is_refused(self) -> None:
        with pytest.raises(FileProblem, match="it is not an ordinary file"):
            read_text(Path("/dev/zero"))

    def test_a_file_far_too_large_is_refused(self, file: Path) -> None:
        with file.open("r+b") as opened:
            opened.truncate(safe_write.MAX_BYTES + 1)
        with pytest.raises(FileProblem, match="larger than 64 MB"):
            read_text(file)

    def test_a_name_that_no_file_can_have_is_a_problem(self) -> None:
        with pytest.raises(FileProblem, match="not the name of a file"):
            read_text(Path("a\0b"))


@posix
class TestLock:
    def test_who_comes_second_waits_in_vain_while_the_first_goes_on(self, file: Path) -> None:
        with locked(file), pytest.raises(FileBusy, match="being changed by another mcp-workbench"):  # noqa: SIM117
            with locked(file, patience=0.05):
                pass

    def test_it_ends_with_its_block_and_leaves_nothing_behind(self, file: Path) -> None:
        with locked(file):
            pass
        with locked(file.parent / "not" / "yet" / "there", patience=0):
            assert names(file.parent) == [file.name]


def _interrupted_after(number: int, action: Callable[[], object]) -> bool:
    """Run an action and press Ctrl-C at the n-th call that it makes into the system; tell whether that moment came."""
    count = 0

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        if event == "c_call" and frame.f_code.co_filename != __file__:
            count += 1
            if count == number:
                signal.raise_signal(signal.SIGINT)

    came = False
    try:
        sys.setprofile(watch)
        action()
    except KeyboardInterrupt:
        came = True
    finally:
        sys.setprofile(None)
    return came or count >= number
