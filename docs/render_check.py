"""Draws `docs/check.svg`: what `mcp-workbench check --connect` shows of real servers, one of them misspelt.

Run it with `uv run python docs/render_check.py`. It starts published servers through npx and uvx.
"""

import io
import json
import os
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from mcp_workbench.commands.check_report import show_result, show_verdict
from mcp_workbench.commands.checkup import Checkup
from mcp_workbench.commands.session import with_manager
from mcp_workbench.config.loading import load_config

TARGET = Path(__file__).with_name("check.svg")
COLUMNS = 100
FONT_FROM_ELSEWHERE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
CONFIG = {
    "toolboxes": {
        "files": {
            "description": "Read and write files, and look at a Git repository",
            "mcpServers": {
                "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
                "git": {"command": "uvx", "args": ["mcp-server-git"], "toolFilters": ["git_log", "git_diff"]},
            },
        },
        "research": {
            "description": "Fetch pages, remember what was learned, tell the time",
            "mcpServers": {
                "fetch": {"command": "uvx", "args": ["mcp-server-fetch"]},
                "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
                "time": {"command": "uvx", "args": ["mcp-sever-time"]},
            },
        },
    }
}


def main() -> None:
    """Check a config in an empty directory, and draw what a terminal would show."""
    out = Console(record=True, file=io.StringIO(), width=COLUMNS, force_terminal=True, highlight=False, emoji=False)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        config = Path("workbench-config.json")
        config.write_text(json.dumps(CONFIG), encoding="utf-8")
        checkup = Checkup(load_config(config, os.environ))
        out.print("[bold]$ mcp-workbench check --connect[/]")
        show_verdict(checkup, out)
        with_manager(checkup.loaded, checkup.connect)
        show_result(checkup, out)
        os.chdir(TARGET.parent)  # a directory that somebody works in cannot be removed everywhere
    drawing = out.export_svg(title="mcp-workbench", theme=MONOKAI, unique_id="check")
    TARGET.write_text(FONT_FROM_ELSEWHERE.sub("", drawing), encoding="utf-8")


if __name__ == "__main__":
    main()
