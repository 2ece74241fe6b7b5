"""The workbenches that run for this user: each keeps one small file about itself while it serves.

The file lies in the user's state directory, readable by the user alone, and is replaced as a whole. It says which
process wrote it and when that process began, so that a file that was left behind is recognised even when its process
id has been given to another program. No port is needed, and nobody has to answer.
"""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from mcp_workbench.directories import state_dir

_FOLDER = "running"
_LARGEST = 10_000_000

Description = dict[str, Any]


def running_dir() -> Path:
    """Where the files are."""
    return state_dir() / _FOLDER


class RunningFile:
    """This process's own file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._identity: Description = {"pid": os.getpid(), "process": process_start(os.getpid())}
        self._path = folder / f"{os.getpid()}.json"

    def write(self, description: Description) -> None:
        """Replace what it says.

        Raises:
            OSError: It cannot be written.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=".", suffix=".tmp")
        try:
            with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                json.dump({**self._identity, **description}, file)
            os.replace(name, self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def remove(self) -> None:
        """Take it away: this workbench runs no more."""
        with contextlib.suppress(OSError):
            self._path.unlink()


def running_workbenches(folder: Path) -> Iterator[Description]:
    """What each workbench that still runs says of itself; files of others are removed."""
    for path in sorted(folder.glob("*.json")):
        description = _read(path)
        if description is None:
            continue
        if _still_runs(description):
            yield description
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def _read(path: Path) -> Description | None:
    try:
        with open(path, encoding="utf-8") as file:
            value = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    description = cast(Description, value)
    return description if isinstance(description.get("pid"), int) else None


def _still_runs(description: Description) -> bool:
    began = process_start(description["pid"])
    return began is not None and began == description.get("process")


if sys.platform == "linux":

    def process_start(pid: int) -> str | None:
        """When a process began, as a text to compare; None if there is none that runs."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            return None
        state, *fields = stat.rpartition(")")[2].split()
        return None if state in "ZX" else f"{boot} {fields[18]}"

elif sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _QUERY = 0x1000
    _STILL_ACTIVE = 259

    def process_start(pid: int) -> str | None:
        """When a process began, as a text to compare; None if there is none that runs."""
        kernel = ctypes.windll.kernel32
        kernel.OpenProcess.restype = wintypes.HANDLE
        if not (handle := kernel.OpenProcess(_QUERY, False, pid)):
            return None
        try:
            times = [wintypes.FILETIME() for _ in range(4)]
            status = wintypes.DWORD()
            if not kernel.GetExitCodeProcess(handle, ctypes.byref(status)) or status.value != _STILL_ACTIVE:
                return None
            kernel.GetProcessTimes(handle, *map(ctypes.byref, times))
            return f"{times[0].dwHighDateTime} {times[0].dwLowDateTime}"
        finally:
            kernel.CloseHandle(handle)

else:

    def process_start(pid: int) -> str | None:
        """When a process began, as a text to compare; None if there is none that runs."""
        import subprocess

        asked = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
        try:
            said = subprocess.run(asked, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        except OSError:
            return None
        state, _, began = said.stdout.strip().partition(" ")
        return began.strip() if began and not state.startswith("Z") else None
