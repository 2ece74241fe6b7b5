"""What every framework does with the workbench: see its tools, open a toolbox, use a tool; and how that is reported."""

import json
import sys
from collections.abc import Iterable
from typing import Any

COMMAND, *ARGS = sys.argv[1:]
OPEN: dict[str, Any] = {"toolbox_name": "dev"}
USE: dict[str, Any] = {
    "tool": {"toolbox": "dev", "server": "tools", "tool": "add"},
    "arguments": {"a": 1, "b": 2.5},
}


def report(tools: Iterable[str], opened: Any, used: Any, **more: Any) -> None:
    """Print what was seen; whatever a framework makes of a result, its text is in it."""
    seen = {"tools": sorted(tools), "opened": opened, "used": used, **more}
    print(json.dumps(seen, default=str))  # noqa: T201 - how `frameworks.py` is told
