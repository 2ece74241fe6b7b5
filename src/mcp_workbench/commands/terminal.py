"""What the commands write to: a console that is plain wherever it is not a terminal."""

import json
import sys
from typing import Any

from rich.console import Console
from rich.markup import escape

from mcp_workbench.hidden_characters import escaped_json, shown, shown_in_line

__all__ = ["console", "line", "paragraph", "shown", "shown_in_line", "write_json"]

_NO_MARGIN = 10_000


class _Console(Console):
    """A console that leaves it to the command line what happens when the reader of its output has gone."""

    def on_broken_pipe(self) -> None:
        """Let the `BrokenPipeError` that is being handled go its way."""
        raise  # rich calls this while it handles the error


def console(*, stderr: bool = False, soft_wrap: bool = True) -> Console:
    """Return a console on stdout: colours on a terminal only, never with NO_COLOR, long paths left whole.

    With `soft_wrap=False` a terminal's lines are folded between words and columns fit its width; in a file or a pipe,
    which has no margin, they stay whole all the same.
    """
    made = _Console(stderr=stderr, highlight=False, soft_wrap=soft_wrap, emoji=False)
    if not soft_wrap and not made.is_terminal:
        made.width = _NO_MARGIN
    return made


def line(text: object) -> str:
    """Return foreign text for a place within a line of rich's: no markup, no line break, nothing hidden."""
    return escape(shown_in_line(str(text)))


def paragraph(text: object) -> str:
    """Return foreign text of several lines for rich: no markup, nothing hidden."""
    return escape(shown(str(text)))


def write_json(value: Any) -> None:
    """Write a value to stdout for another program to read; what could steer a terminal is in it as JSON escapes."""
    sys.stdout.write(escaped_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n")
