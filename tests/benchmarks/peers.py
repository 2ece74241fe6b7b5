"""Other programs from PyPI that put one stdio server before several, each in a throw-away environment of its own.

`mcp-proxy` is not among them: it joins stdio to HTTP, one on either side, and has no mode with stdio on both.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.contenders import HERE, Contender, server_entries

LEFT_OUT = "mcp-proxy joins stdio to HTTP and has no mode with stdio on both sides, so it is not measured."


def install_peers(directory: Path) -> list[Contender]:
    """Install the newest release of each; `directory` is all that they may write into."""
    fastmcp, pmcp = (install(directory, package) for package in ("fastmcp", "pmcp"))
    env = {**os.environ, "HOME": str(directory)}
    return [
        Contender(
            "fastmcp",
            command=with_config(lambda config: [str(fastmcp / "python"), str(HERE / "fastmcp_proxy.py"), config]),
            params=lambda server, size: {"name": f"s{server}_text", "arguments": {"size": size}},
            env=env,
        ),
        Contender(
            "pmcp",
            command=with_config(
                lambda config: [
                    str(pmcp / "pmcp"),
                    "-q",
                    "-c",
                    config,
                    "-p",
                    str(directory),
                    "--lock-dir",
                    config + "d",
                ]
            ),
            params=lambda server, size: {
                "name": "gateway.invoke",
                "arguments": {"tool_id": f"s{server}::text", "arguments": {"size": size}},
            },
            env=env,
        ),
    ]


def install(directory: Path, package: str) -> Path:
    """The directory of the programs of a new environment with this package in it."""
    place = directory / package
    for command in (["venv", "--python", sys.executable, str(place)], ["pip", "install", "-p", str(place), package]):
        subprocess.run(["uv", "-q", *command], check=True)
    return place / ("Scripts" if sys.platform == "win32" else "bin")


def with_config(command: Callable[[str], list[str]]) -> Callable[[Path, int], list[str]]:
    """A command that takes a standard `mcpServers` file."""

    def configured(directory: Path, servers: int) -> list[str]:
        config = directory / f"mcp-{servers}.json"
        config.write_text(json.dumps({"mcpServers": server_entries(servers)}), encoding="utf-8")
        return command(str(config))

    return configured
