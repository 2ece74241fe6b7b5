"""Showing what is longer than the terminal with the pager of the person who reads it."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def paged(out: Console) -> Generator[None]:
    """Gather what is written to a console on stdout; in a terminal that it does not fit, a pager shows it."""
    if not (out.is_terminal and sys.stdin is not None and sys.stdin.isatty()) or not (pager := _pager()):
        yield
        return
    with out.capture() as captured:
        yield
    text = captured.get()
    if text.count("\n") < out.height or not _showed(pager, text):
        sys.stdout.write(text)


def _pager() -> list[str]:
    """Return the command of `$PAGER`, else of less; nothing if there is none."""
    wanted = os.environ.get("PAGER", "less")
    try:
        command = shlex.split(wanted)
    except ValueError:
        return []
    return command if command and shutil.which(command[0]) else []


def _showed(pager: list[str], text: str) -> bool:
    """Whether the pager could be started."""
    env = {"LESS": "FRX", "LV": "-c", **os.environ}  # colours, and no pause at what fits; as Git has it
    sys.stdout.flush()
    try:
        process = subprocess.Popen(pager, stdin=subprocess.PIPE, env=env, text=True, errors="backslashreplace")
    except OSError:
        return False
    while True:
        try:
            process.communicate(text)
            return True
        except KeyboardInterrupt:  # meant for the pager, which goes on
            continue
