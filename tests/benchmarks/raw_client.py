"""A client that costs next to nothing: blocking pipes, requests made by hand, answers only looked at."""

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

Json = dict[str, Any]
MakeParams = Callable[[int], Json]

INITIALIZE: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
_BUFFER = 1024 * 1024
_HEAD = 60
_LONGEST_ERROR = 4000
LEAVING = 10
"""Seconds for a server to end by itself after its stdin closed."""


class CallFailedError(Exception):
    """A measured call did not succeed, so its time means nothing."""


class RawClient:
    """One server process and its two pipes."""

    def __init__(
        self, command: Sequence[str], cwd: str | Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=cwd,
            env=env,
            bufsize=_BUFFER,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._ids = count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> float:
        """Close stdin and wait for the process; the seconds that took."""
        began = time.perf_counter()
        with suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self.process.wait(LEAVING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        seconds = time.perf_counter() - began
        self._stdout.close()
        self._stderr.close()
        return seconds

    def greet(self, **changes: Json) -> Json:
        result = self.request("initialize", {**INITIALIZE, **changes})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def request(self, method: str, params: Json) -> Json:
        number = self.begin(method, params)
        while (message := self.next_message()).get("id") != number or "method" in message:
            pass
        if "error" in message:
            raise CallFailedError(str(message["error"]))
        return message["result"]

    def begin(self, method: str, params: Json) -> int:
        """Send a request; its id."""
        number = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def next_message(self) -> Json:
        return json.loads(self._next_line())

    def call(self, name: str, arguments: Json) -> Json:
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise CallFailedError(str(result)[:2000])
        return result

    def send(self, message: Json) -> None:
        self._write(json.dumps(message).encode() + b"\n")

    def time_calls(self, calls: int, params: MakeParams) -> list[float]:
        """The seconds that each of so many calls took, one after the other."""
        return [self.time_flood(1, 1, lambda _, number=number: params(number)) for number in range(calls)]

    def time_flood(self, calls: int, in_flight: int, params: MakeParams) -> float:
        """The seconds that so many calls took with so many of them always under way."""
        ids = [next(self._ids) for _ in range(calls)]
        lines = [_line(call_id, params(number)) for number, call_id in enumerate(ids)]
        heads: list[bytes] = []
        began = time.perf_counter()
        self._write(b"".join(lines[:in_flight]))
        for line in lines[in_flight:]:
            heads.append(self._next_answer())
            self._write(line)
        heads.extend(self._next_answer() for _ in range(min(in_flight, calls)))
        seconds = time.perf_counter() - began
        if sorted(map(_id_in, heads)) != ids:
            raise CallFailedError("the answers are not those to the calls that were timed")
        return seconds

    def memory(self) -> int:
        """The resident bytes of the process alone, without its children."""
        return psutil.Process(self.process.pid).memory_info().rss

    def _next_answer(self) -> bytes:
        """The beginning of the next answer; notifications, which have no id, are passed over."""
        while b'"id":' not in (line := self._next_line())[:_HEAD]:
            pass
        if b'"result"' not in line[:_HEAD] or (len(line) < _LONGEST_ERROR and b'"isError":true' in line):
            raise CallFailedError(line[:2000].decode(errors="replace"))
        return line[:_HEAD]

    def _next_line(self) -> bytes:
        line = self._stdout.readline()
        if not line:
            raise self._ended()
        return line

    def _write(self, data: bytes) -> None:
        try:
            self._stdin.write(data)
            self._stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _ended(self) -> CallFailedError:
        status = self.process.wait(LEAVING)
        self._stderr.seek(0)
        last_words = self._stderr.read().decode(errors="replace")[-2000:]
        return CallFailedError(f"{self.process.args} ended with status {status}\n{last_words}")


def _line(call_id: int, params: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": call_id, "method": "tools/call", "params": params}).encode() + b"\n"


def _id_in(head: bytes) -> int:
    found = re.search(rb'"id":(\d+)', head)
    return int(found[1]) if found else -1
