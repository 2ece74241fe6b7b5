"""What the commands write to: a console that is plain wherever it is not a terminal."""

import json
import sys
from typing import Any

from rich.console import Console


def console(*, stderr: bool = False, soft_wrap: bool = True) -> Console:
    """Return a console on stdout: colours on a terminal only, never with NO_COLOR, long paths left whole.

    Tables need `soft_wrap=False`, so that their cells are folded into the width of the terminal.
    """
    return Console(stderr=stderr, highlight=False, soft_wrap=soft_wrap, emoji=False)


def write_json(value: Any) -> None:
    """Write a value to stdout for another program to read."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
