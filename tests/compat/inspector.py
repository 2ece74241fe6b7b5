"""The programs of `@modelcontextprotocol/inspector`: a client of one request, and a daemon that keeps a connection."""

import json
import os
from pathlib import Path

from compat.published import run
from wire import Era, Json, workbench

TOOL_IS_ERROR = 5
"""The command line's exit status when a tool says `isError`."""


class Inspector:
    """Both programs, with a home of their own and the workbench as their only server."""

    def __init__(self, node: str, modules: Path, folder: Path, config: Path) -> None:
        self._node = node
        self._clients = modules / "node_modules/@modelcontextprotocol/inspector/clients"
        self._servers = folder / "inspector.json"
        command, *arguments = workbench(config)
        self._servers.write_text(json.dumps({"mcpServers": {"bench": {"command": command, "args": arguments}}}))
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "USERPROFILE": str(folder),
            "MCP_INSPECTOR_SECRET_STORE": "memory",
            "MCP_INSPECTOR_DAEMON_DIR": str(folder / "d"),
            "MCP_INSPECTOR_DAEMON_TOKEN": "of this test",
        }

    def cli(self, era: Era, method: str, *options: str, status: int = 0) -> Json:
        """The result of one request to a workbench started for it."""
        which = ("--config", self._servers, "--server", "bench", "--protocol-era", era, "--format", "json")
        script = self._clients / "launcher/build/index.js"
        command = [self._node, script, "--cli", *which, "--method", method, *options]
        finished = run(command, env=self._environment)
        assert finished.returncode == status, finished.stdout
        return json.loads(finished.stdout)["result"]

    def mcpdo(self, *arguments: str) -> Json:
        """What one command prints; all commands share a connection that the daemon keeps."""
        which = ("--config", self._servers, "--connection", "bench", "--format", "json")
        script = self._clients / "mcpdo/build/mcp-bin.js"
        return json.loads(run([self._node, script, *which, *arguments], env=self._environment, check=True).stdout)
