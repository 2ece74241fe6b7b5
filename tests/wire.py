"""A raw MCP client for tests: it reads and writes the wire itself and judges nothing.

`WireClient` speaks to any stdio server, the workbench or one behind it, in either protocol era, and keeps every
line it got. What an SDK would tidy up, refuse or drop is therefore there for a test to see. Every wait is bounded,
and leaving the client asserts that the process and all that it had started are gone.
"""

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import anyio.abc
import psutil

from starting import PROGRAM, open_process

Json = dict[str, Any]
Era = Literal["legacy", "modern"]
Answer = Callable[[Json], Awaitable[Json]]

LEGACY_VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
PATIENCE = 90.0
SCRIPTED = Path(__file__).parent / "servers" / "scripted.py"
SDK_SERVER = Path(__file__).parent / "servers" / "sdk_server.py"
QUESTIONS = ("elicitation/create", "sampling/createMessage", "roots/list")


class RpcError(Exception):
    """The other side answered with an error, or is to be answered with one."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.data = code, message, data


class ServerGoneError(Exception):
    """The server's stdout ended before it answered."""


class RequestHandle:
    """A request that was sent, and its answer once there is one."""

    def __init__(self, client: "WireClient", request_id: str | int) -> None:
        self._client = client
        self._done = anyio.Event()
        self.id = request_id
        self.response: Json | None = None

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def settle(self, response: Json | None) -> None:
        self.response = response
        self._done.set()

    async def wait(self, within: float | None = None) -> Json:
        """The raw result.

        Raises:
            RpcError: The server answered with an error.
            ServerGoneError: It will never answer.
        """
        with anyio.fail_after(within or self._client.patience):
            await self._done.wait()
        if self.response is None:
            raise ServerGoneError(f"no answer to {self.id!r}; stderr: {self._client.stderr}")
        if "error" in self.response:
            error = self.response["error"]
            raise RpcError(error["code"], error["message"], error.get("data"))
        return self.response["result"]

    async def cancel(self, reason: str = "the test no longer wants it") -> None:
        await self._client.notify("notifications/cancelled", {"requestId": self.id, "reason": reason})


class WireClient:
    """One server process and the conversation with it."""

    def __init__(self, process: anyio.abc.Process, era: Era, capabilities: Json, client_info: Json) -> None:
        self.process = process
        self.era: Era = era
        self.capabilities = capabilities
        self.client_info = client_info
        self.patience = PATIENCE
        self.handshake: Json = {}
        self.received: list[Json] = []
        self.sent: list[Json] = []
        self.stdout_lines: list[bytes] = []
        self.noise: list[bytes] = []
        self.strays: list[Json] = []
        self.notifications: list[Json] = []
        self.on_request: dict[str, Answer] = {}
        self.killed = False
        self._stderr = bytearray()
        self._unread: list[Json] = []
        self._news = anyio.Event()
        self._ended = anyio.Event()
        self._stderr_ended = anyio.Event()
        self._pending: dict[str | int, RequestHandle] = {}
        self._last_id = 0
        self._writing = anyio.Lock()

    @classmethod
    @asynccontextmanager
    async def spawn(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        era: Era = "legacy",
        capabilities: Json | None = None,
        client_info: Json | None = None,
        on_request: Mapping[str, Answer] | None = None,
        handshake: bool = True,
        patience: float = PATIENCE,
        close_within: float = 10,
        leaves_nothing: bool = True,
    ) -> AsyncGenerator["WireClient"]:
        """Start a server, greet it, and see it off at the end.

        Args:
            command: The program and its arguments.
            env: Variables added to this process's own.
            cwd: Where to run it.
            era: The protocol era to speak.
            capabilities: What this client says it can do.
            client_info: Who it says it is.
            on_request: What answers the server's requests.
            handshake: Whether to greet the server; without it nothing is sent.
            patience: Seconds for every single wait.
            close_within: Seconds between the end of stdin and the kill.
            leaves_nothing: Whether to assert that no descendant outlives the process.
        """
        whole_env = {**os.environ, **(env or {})}
        process = await open_process(command, env=whole_env, cwd=cwd, start_new_session=True)
        client = cls(process, era, capabilities or {}, client_info or {"name": "wire-test", "version": "1.0"})
        client.patience = patience
        client.on_request.update(on_request or {})
        failure: BaseException | None = None
        orphans: list[psutil.Process] = []
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client._read_stdout, tasks)
                tasks.start_soon(client._read_stderr)
                try:
                    if handshake:
                        await client.greet()
                    yield client
                except anyio.get_cancelled_exc_class():
                    raise
                except BaseException as raised:
                    # Kept out of the task group, which would wrap a failed assertion in an exception group.
                    failure = raised
                orphans = await client._close(close_within)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                client._kill_group_if_running()
                await process.aclose()
        if failure is not None:
            kill_all(orphans)
            raise failure
        if leaves_nothing and orphans:
            kill_all(orphans)
            raise AssertionError(f"outlived {process.pid}: {[described(orphan) for orphan in orphans]}")

    @property
    def returncode(self) -> int | None:
        return self.process.returncode

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def stderr(self) -> str:
        return self._stderr.decode(errors="replace")

    @property
    def instructions(self) -> str | None:
        return self.handshake.get("instructions")

    @property
    def server_info(self) -> Json:
        if self.era == "modern":
            return self.handshake["_meta"][PREFIX + "serverInfo"]
        return self.handshake["serverInfo"]

    async def greet(self) -> Json:
        """Perform the era's handshake; its raw result stays in `handshake`."""
        if self.era == "modern":
            self.handshake = await self.request("server/discover", {})
        else:
            hello = {"protocolVersion": LEGACY_VERSION, "capabilities": self.capabilities}
            self.handshake = await self.request("initialize", {**hello, "clientInfo": self.client_info})
            await self.notify("notifications/initialized")
        return self.handshake

    async def request(
        self, method: str, params: Json | None = None, *, meta: Json | None = None, progress_token: Any = None
    ) -> Json:
        """Send a request and return its raw result.

        Raises:
            RpcError: The server answered with an error.
            ServerGoneError: It will never answer.
        """
        handle = await self.start_request(method, params, meta=meta, progress_token=progress_token)
        return await handle.wait()

    async def start_request(
        self, method: str, params: Json | None = None, *, meta: Json | None = None, progress_token: Any = None
    ) -> RequestHandle:
        """Send a request without waiting for its answer."""
        self._last_id += 1
        handle = self._pending[self._last_id] = RequestHandle(self, self._last_id)
        if self._ended.is_set():
            handle.settle(None)
            return handle
        stamped = self._stamped(params, meta, progress_token)
        body = {} if stamped is None else {"params": stamped}
        await self.send({"jsonrpc": "2.0", "id": handle.id, "method": method, **body})
        return handle

    async def call_tool(
        self, name: str, arguments: Json | None = None, *, meta: Json | None = None, progress_token: Any = None
    ) -> Json:
        handle = await self.start_call(name, arguments, meta=meta, progress_token=progress_token)
        return await handle.wait()

    async def start_call(
        self, name: str, arguments: Json | None = None, *, meta: Json | None = None, progress_token: Any = None
    ) -> RequestHandle:
        params = {"name": name, "arguments": arguments or {}}
        return await self.start_request("tools/call", params, meta=meta, progress_token=progress_token)

    async def call_tool_answering(
        self,
        name: str,
        arguments: Json | None = None,
        answer: Callable[[str, Json], Awaitable[Json]] | None = None,
        *,
        max_rounds: int = 10,
    ) -> Json:
        """Call a tool that asks questions, in whichever way the era asks them, and return its final result.

        Args:
            name: The tool.
            arguments: Its arguments.
            answer: Takes a question's method and params; without it `on_request` answers.
            max_rounds: How many times a modern server may ask.
        """
        if answer is not None:
            self.on_request.update({method: _bound(answer, method) for method in QUESTIONS})
        params: Json = {"name": name, "arguments": arguments or {}}
        result = await self.request("tools/call", params)
        for _ in range(max_rounds):
            if result.get("resultType") != "input_required":
                return result
            result = await self.request("tools/call", {**params, **await self.answers_to(result)})
        raise AssertionError(f"still asking after {max_rounds} rounds")

    async def answers_to(self, input_required: Json) -> Json:
        """What a retry adds to the params of the call that got this `input_required` result."""
        questions: Json = input_required.get("inputRequests") or {}
        responses: Json = {}
        for key, question in questions.items():
            responses[key] = await self.on_request[question["method"]](question.get("params") or {})
        state = {"requestState": input_required["requestState"]} if "requestState" in input_required else {}
        return {**({"inputResponses": responses} if questions else {}), **state}

    async def notify(self, method: str, params: Json | None = None) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    async def send(self, message: Json) -> None:
        self.sent.append(message)
        await self.send_raw(json.dumps(message))

    async def send_raw(self, line: bytes | str) -> None:
        """Write one line as it is; only the line's end is added."""
        content = line.encode() if isinstance(line, str) else line
        assert self.process.stdin is not None
        with anyio.fail_after(self.patience):
            async with self._writing:
                await self.process.stdin.send(content + b"\n")

    async def next_notification(self, method: str) -> Json:
        """The params of the first notification of that method not yet returned from here."""
        with anyio.fail_after(self.patience):
            while True:
                for message in self._unread:
                    if message["method"] == method:
                        self._unread.remove(message)
                        return message.get("params") or {}
                if self._ended.is_set():
                    raise ServerGoneError(f"no {method}; stderr: {self.stderr}")
                await self._news.wait()

    async def close_stdin(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server alone, not to its group."""
        self.process.send_signal(number)

    async def wait_exit(self, within: float | None = None) -> int:
        """Wait until the process has ended and all of its stderr is here."""
        with anyio.fail_after(within or self.patience):
            status = await self.process.wait()
        with anyio.move_on_after(1):  # a grandchild may hold the pipe open
            await self._stderr_ended.wait()
        return status

    def _stamped(self, params: Json | None, meta: Json | None, progress_token: Any) -> Json | None:
        stamp: Json = {}
        if self.era == "modern":
            stamp[PREFIX + "protocolVersion"] = MODERN_VERSION
            stamp[PREFIX + "clientInfo"] = self.client_info
            stamp[PREFIX + "clientCapabilities"] = self.capabilities
        if progress_token is not None:
            stamp["progressToken"] = progress_token
        stamp |= meta or {}
        return {**(params or {}), "_meta": stamp} if stamp else params

    async def _read_stdout(self, tasks: anyio.abc.TaskGroup) -> None:
        assert self.process.stdout is not None
        async for line in _lines(self.process.stdout):
            self.stdout_lines.append(line)
            try:
                message: Any = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                self._dispatch(cast("Json", message), tasks)
            else:
                self.noise.append(line)
        self._ended.set()
        self._tell()
        for handle in self._pending.values():
            handle.settle(None)

    async def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        async for chunk in self.process.stderr:
            self._stderr += chunk
        self._stderr_ended.set()

    def _dispatch(self, message: Json, tasks: anyio.abc.TaskGroup) -> None:
        self.received.append(message)
        if "method" in message and "id" in message:
            tasks.start_soon(self._answer, message)
        elif "method" in message:
            self.notifications.append(message)
            self._unread.append(message)
            self._tell()
        elif handle := self._pending.pop(message.get("id", ""), None):
            handle.settle(message)
        else:
            self.strays.append(message)

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def _answer(self, message: Json) -> None:
        handler = self.on_request.get(message["method"])
        body: Json
        try:
            if handler is None:
                raise RpcError(-32601, "Method not found", message["method"])
            body = {"result": await handler(message.get("params") or {})}
        except RpcError as error:
            data = {} if error.data is None else {"data": error.data}
            body = {"error": {"code": error.code, "message": error.message, **data}}
        try:
            await self.send({"jsonrpc": "2.0", "id": message["id"], **body})
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._stderr += b"\n[wire] the server went before it could be answered\n"

    async def _close(self, within: float) -> list[psutil.Process]:
        """End the server politely, then by force; returns the descendants that are still alive afterwards."""
        descendants = children_of(self.pid)
        await self.close_stdin()
        with anyio.move_on_after(within):
            await self.process.wait()
        self._kill_group_if_running()
        await self.wait_exit()
        with anyio.move_on_after(2):
            await eventually(lambda: not any(alive(descendant) for descendant in descendants))
        return [descendant for descendant in descendants if alive(descendant)]

    def _kill_group_if_running(self) -> None:
        if self.process.returncode is not None:
            return
        self.killed = True
        if sys.platform == "win32":
            self.process.kill()
        else:
            os.killpg(self.process.pid, signal.SIGKILL)


def _bound(answer: Callable[[str, Json], Awaitable[Json]], method: str) -> Answer:
    async def handler(params: Json) -> Json:
        return await answer(method, params)

    return handler


async def _lines(stream: anyio.abc.ByteReceiveStream) -> AsyncGenerator[bytes]:
    unfinished: list[bytes] = []
    async for chunk in stream:
        first, *rest = chunk.split(b"\n")
        unfinished.append(first)
        for part in rest:
            yield b"".join(unfinished)
            unfinished = [part]
    if last := b"".join(unfinished):
        yield last


def scripted(**options: Any) -> Json:
    """An `mcpServers` entry for the scripted server; add `env`, `toolFilters` and the like with `|`."""
    # Without site the interpreter starts in half the time; the script needs the standard library alone.
    return {"command": sys.executable, "args": ["-S", "-E", str(SCRIPTED), json.dumps(options)]}


def command_of(entry: Json) -> list[str]:
    """The command line of an `mcpServers` entry, to spawn the server without a workbench."""
    return [entry["command"], *entry["args"]]


def write_config(tmp_path: Path, toolboxes: Json) -> Path:
    """Write a config; a toolbox may be given as its servers alone."""
    full = {
        name: box if "mcpServers" in box else {"description": f"The {name} toolbox", "mcpServers": box}
        for name, box in toolboxes.items()
    }
    path = tmp_path / "workbench-config.json"
    path.write_text(json.dumps({"toolboxes": full}), encoding="utf-8")
    return path


def workbench(config: Path | str) -> list[str]:
    return [*PROGRAM, "--config", str(config)]


def text_of(result: Json) -> str:
    """The text of a result that holds exactly one text block."""
    (block,) = result["content"]
    assert block["type"] == "text"
    return block["text"]


def read_log(path: Path | str, **wanted: Any) -> list[Json]:
    """The events a scripted server has logged so far, or those of them with these fields."""
    if not Path(path).exists():
        return []
    whole_lines = Path(path).read_bytes().split(b"\n")[:-1]
    events: list[Json] = [json.loads(line) for line in whole_lines]
    return [event for event in events if wanted.items() <= event.items()] if wanted else events


async def logged(path: Path | str, *, count: int = 1, within: float = PATIENCE, **wanted: Any) -> list[Json]:
    """Wait until the log holds `count` events with these fields."""
    with anyio.fail_after(within):
        await eventually(lambda: len(read_log(path, **wanted)) >= count)
    return read_log(path, **wanted)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until it holds; for what goes on in other processes, which tell us nothing. The caller sets the bound."""
    while not condition():  # noqa: ASYNC110 - there is no event to wait for in another process
        await anyio.sleep(0.01)


def children_of(pid: int) -> list[psutil.Process]:
    """All living descendants."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; a zombie has ended and only waits for its parent."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def described(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {' '.join(process.cmdline())[:200]}"
    except psutil.Error:
        return str(process.pid)


def kill_all(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        if alive(process):
            process.kill()


async def assert_gone(pid: int, within: float = 5) -> None:
    """Wait, within a bound, until no process has this pid or it is a zombie."""
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return
    with anyio.move_on_after(within):
        await eventually(lambda: not alive(process))
    assert not alive(process), f"still running: {described(process)}"
