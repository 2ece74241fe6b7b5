"""Packages from the registries, installed by name at a major version, and the programs that run them."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from wire import alive, described

NPM_PACKAGES = (
    "@modelcontextprotocol/server-everything@2026",
    "@modelcontextprotocol/sdk@1",
    "@modelcontextprotocol/client@2",
    "@modelcontextprotocol/server@2",
    "@modelcontextprotocol/inspector@2",
)
PYTEST_MCPTEST = "pytest-mcptest>=0.1,<0.2"

PATIENCE = 300.0
"""Seconds: a registry may be slow."""


def program(name: str) -> str:
    """The path of a program, as Windows needs it to run a script; without the program the test is skipped."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. Its stderr stays in the report of the test."""
    arguments = [str(part) for part in command]
    return subprocess.run(
        arguments, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, encoding="utf-8", timeout=PATIENCE, **options
    )


def npm_install(folder: Path) -> None:
    """Install the packages there, and run nothing of theirs."""
    quietly = ("--no-audit", "--no-fund", "--no-save", "--omit=optional", "--ignore-scripts", "--loglevel=error")
    run([program("npm"), "install", "--prefix", folder, *quietly, *NPM_PACKAGES], check=True)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder of this run of the tests; of all processes that run them, the first that asks fills it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    done, failed = folder.with_suffix(".done"), folder.with_suffix(".failed")
    try:
        folder.mkdir()
    except FileExistsError:
        _wait_for(done, failed)
        return folder
    try:
        make(folder)
    except BaseException:
        failed.touch()
        raise
    done.touch()
    return folder


def _wait_for(done: Path, failed: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not done.exists():
        if failed.exists() or time.monotonic() > until:
            pytest.fail(f"{done.stem} could not be made by another process; its report says why")
        time.sleep(0.1)


def assert_nothing_runs_in(folder: Path) -> None:
    """No process is left that names the folder, as the workbench and the servers of a test do."""
    named = [process for process in psutil.process_iter() if str(folder) in described(process)]
    _, running = psutil.wait_procs(named, timeout=5)
    assert not [described(process) for process in running if alive(process)]
