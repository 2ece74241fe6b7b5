"""Other programs from PyPI that put one stdio server before several, each in a throw-away environment of its own.

`mcp-proxy` is not among them: it joins stdio to HTTP, one on either side, and has no mode with stdio on both.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.contenders import HERE, TRIVIAL_SERVER, Contender, server_entries

LEFT_OUT = "mcp-proxy joins stdio to HTTP and has no mode with stdio on both sides, so it is not measured."


def install_peers(directory: Path) -> list[Contender]:
    """Install the newest release of each; `directory` is all that they may write into."""
    programs = {package: install(directory, package) for package in ("fastmcp", "pmcp")}
    env = {**os.environ, "HOME": str(directory)}

    def fastmcp(place: Path, servers: int) -> list[str]:
        config = write_servers(place, "fastmcp", servers)
        return [str(programs["fastmcp"] / "python"), str(HERE / "fastmcp_proxy.py"), str(config)]

    def pmcp(place: Path, servers: int) -> list[str]:
        config = write_servers(place, "pmcp", servers)
        options = ["-q", "-c", str(config), "-p", str(place), "--lock-dir", str(config.with_suffix(".lock"))]
        return [str(programs["pmcp"] / "pmcp"), *options]

    return [
        Contender(
            "fastmcp",
            fastmcp,
            params=lambda server, size: {"name": f"s{server}_text", "arguments": {"size": size}},
            env=env,
        ),
        Contender(
            "pmcp",
            pmcp,
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


def write_servers(directory: Path, peer: str, servers: int) -> Path:
    """A standard `mcpServers` file.

    Each peer's servers have a script of their own: pmcp, when it starts, kills every process on the machine that has
    the same command line as one of its servers.
    """
    script = Path(shutil.copy(TRIVIAL_SERVER, directory / f"{peer}_server.py"))
    config = directory / f"{peer}-{servers}.json"
    config.write_text(json.dumps({"mcpServers": server_entries(servers, script=script)}), encoding="utf-8")
    return config
