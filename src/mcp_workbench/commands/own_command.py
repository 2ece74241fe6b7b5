"""How this program was started, so that the commands it prints work as they are printed."""

import os
import shlex
import shutil
import sys


def own_command() -> str:
    """Return what to type before a command's name in the shell that started us."""
    if os.environ.get("UV_RUN_RECURSION_DEPTH"):  # set for whatever `uv run` starts
        return "uv run --no-dev mcp-workbench"
    if shutil.which("mcp-workbench"):
        return "mcp-workbench"
    return f"{shlex.quote(sys.executable)} -m mcp_workbench"
