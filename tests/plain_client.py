"""A blocking client for tests: one request at a time, or none of its answers read. It may be half gone on purpose.

Where `WireClient` reads everything all the time, this one reads only what it is told to, so that a test can leave the
workbench with a full pipe, or with a closed one.
"""

import json
import select
import subprocess
from pathlib import Path
from typing import Self

from serving import using
from wire import LEGACY_VERSION, PATIENCE, Json, workbench


class PlainClient:
    """A workbench process that was greeted, until the block ends."""

    def __init__(
        self, config: Path, *options: str, capabilities: Json | None = None, stderr: int | None = None
    ) -> None:
        command = [*workbench(config), *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
        )
        self._capabilities = capabilities or {}
        self._last_id = 0

    def __enter__(self) -> Self:
        about: Json = {"clientInfo": {"name": "plain-test", "version": "1"}, "capabilities": self._capabilities}
        self.ask("initialize", {"protocolVersion": LEGACY_VERSION, **about})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        self.process.wait()

    def ask(self, method: str, params: Json) -> Json:
        """The result of a request; nothing else may come before it."""
        request_id = self.start(method, params)
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], PATIENCE)[0], f"no answer to {method}"
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == request_id
        return answer["result"]

    def start(self, method: str, params: Json) -> int:
        """Send a request whose answer nobody will read."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def open(self, toolbox: str) -> Json:
        """What `open_toolbox` answers."""
        return self.ask("tools/call", {"name": "open_toolbox", "arguments": {"toolbox_name": toolbox}})

    def use(self, toolbox: str, server: str, tool: str, arguments: Json | None = None) -> Json:
        """What `use_tool` answers."""
        return self.ask("tools/call", {"name": "use_tool", "arguments": using(toolbox, server, tool, arguments)})

    def start_use(self, toolbox: str, server: str, tool: str, arguments: Json | None = None) -> None:
        """Call `use_tool` without ever reading its answer."""
        self.start("tools/call", {"name": "use_tool", "arguments": using(toolbox, server, tool, arguments)})

    def close_stdin(self) -> None:
        """Let the workbench see the end of its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close_stdout(self) -> None:
        """Let the workbench write into a broken pipe from now on."""
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
