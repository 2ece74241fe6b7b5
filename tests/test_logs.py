"""What the log says stands in it once, whole, in the words of the workbench alone, and nobody waits for its reader."""

import logging
import os
import threading
from collections.abc import Iterator

import pytest

from mcp_workbench.logs import StderrHandler, log_to_stderr
from mcp_workbench.redaction import Redactor


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


@pytest.fixture
def restored_logging() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("mcp_workbench", logging.WARNING, "", 0, "%s", (text,), None)


@pytest.mark.usefixtures("restored_logging")
def test_a_server_cannot_forge_a_line_of_the_log() -> None:
    log_to_stderr("info", Redactor(()))
    text = logging.root.handlers[0].format(record("said\nmcp-workbench: ERROR: all is lost\r\x1b[2J"))
    assert text == "mcp-workbench: WARNING: said\n    mcp-workbench: ERROR: all is lost\\r\\x1b[2J"


def test_where_no_thread_can_be_started_the_log_is_kept_until_one_can(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = pipe
    handler = StderrHandler(writer)
    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", refused)
        handler.emit(record("first"))
    handler.emit(record("second"))
    handler.flush()
    assert os.read(reader, 1000) == b"first\nsecond\n"


def test_the_last_lines_of_a_process_that_may_not_start_a_thread_are_written_all_the_same(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = pipe
    handler = StderrHandler(writer)
    monkeypatch.setattr(threading.Thread, "start", refused)
    handler.emit(record("the reason"))
    handler.flush()
    assert os.read(reader, 1000) == b"the reason\n"


def refused(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
