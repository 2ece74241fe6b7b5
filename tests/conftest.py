"""Fixtures that every test may use."""

import signal
import sys
from collections.abc import Generator

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The workbench runs on asyncio; so do its tests."""
    return "asyncio"


@pytest.fixture
def hangups_are_heard() -> Generator[None]:
    """Where the tests run under nohup, do not let the programs they start inherit that."""
    if sys.platform == "win32":
        yield
        return
    # Unlike SIG_IGN, a handler does not survive exec.
    before = signal.signal(signal.SIGHUP, lambda number, frame: None)
    yield
    signal.signal(signal.SIGHUP, before)
