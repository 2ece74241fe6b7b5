"""Logging to stderr: one line a record, without secrets."""

import logging
import os
import sys

from mcp_workbench.errors import WorkbenchError
from mcp_workbench.redaction import Redactor

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

COMMAND_LOG_LEVEL = "error"
"""Commands say themselves what happened: log lines would only tear up what they show."""


def log_to_stderr(option: str | None, redact: Redactor, *, default: str = "info") -> None:
    """Log at the level of the option, else of `$WORKBENCH_LOG_LEVEL`, else at the default.

    Raises:
        WorkbenchError: The variable holds something else.
    """
    level = option or os.environ.get("WORKBENCH_LOG_LEVEL", "").lower() or default
    if level not in LEVELS:
        raise WorkbenchError(f"WORKBENCH_LOG_LEVEL must be one of {', '.join(LEVELS)}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_RedactingFormatter(redact))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("mcp_workbench").setLevel(LEVELS[level])


class _RedactingFormatter(logging.Formatter):
    def __init__(self, redact: Redactor) -> None:
        super().__init__("mcp-workbench: %(levelname)s: %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))
