"""One life of a downstream server: a process that was started, greeted and asked for its tools.

`open_link` yields a `Link` when all that is done, and when its block is left nothing of the process remains. What the
server sends on its own account (progress, log messages, questions, changes) is routed to the tool calls under way.
"""

import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakValueDictionary

import anyio
from mcp_types import INVALID_REQUEST

from mcp_workbench.downstream.caller import CAPABILITY_OF, missing_capability
from mcp_workbench.downstream.handshake import Greeting, greet
from mcp_workbench.downstream.tool_list import ToolList, read_tool_list
from mcp_workbench.downstream.transports.process import Program, ServerProcess, SpawnFailed, run_process
from mcp_workbench.jsonrpc import codec, pipes
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer, PeerGone, RemoteError, method_not_found
from mcp_workbench.jsonrpc.peer import Peer
from mcp_workbench.redaction import Redactor

_LAST_OUTPUT = 0.5
"""Seconds for a dead server's last answers to be read; a surviving grandchild may hold the pipe open."""

_BETWEEN_CHANGES = 0.2
"""Seconds between two readings of the tools of a server that announces a change while they are read."""

_SHOWN = 4000
"""Bytes of a line that cannot be read that are logged and quoted."""


class LinkFailed(Exception):
    """The server could not be connected; `str()` is the reason a person reads."""

    def __init__(self, reason: str, *, while_probing: bool = False) -> None:
        super().__init__(reason)
        self.while_probing = while_probing
        """It failed after a first message that some older servers do not survive."""


@dataclass
class Question:
    """Something a legacy server asks the client, until it is answered or withdrawn."""

    peer: Peer
    request_id: int | str
    method: str
    params: JSONObject
    closed: anyio.Event = field(default_factory=anyio.Event)

    def answer(self, result: Mapping[str, Any]) -> None:
        """Pass the client's answer to the server."""
        if not self.closed.is_set():
            self.closed.set()
            self.peer.answer(self.request_id, result)

    def refuse(self, code: int, message: str, data: Any = None) -> None:
        """Tell the server that there is no answer."""
        if not self.closed.is_set():
            self.closed.set()
            self.peer.refuse(self.request_id, code, message, data)

    def give_up(self) -> None:
        """Answer for a user who never did."""
        if self.method == "elicitation/create":
            self.answer({"action": "cancel"})
        else:
            self.refuse(INVALID_REQUEST, "The client did not answer")


class OpenCall(Protocol):
    """A tool call under way, as the link sees it."""

    @property
    def paused(self) -> bool:
        """Whether its client has questions to answer before it looks again."""
        ...

    @property
    def declared(self) -> Mapping[str, Any]:
        """What its client can be asked."""
        ...

    def on_progress(self, params: JSONObject) -> None:
        """The server reports progress."""
        ...

    def on_log(self, params: JSONObject) -> bool:
        """The server logs something; whether this call's client will hear it."""
        ...

    def on_question(self, question: Question) -> None:
        """The server asks something."""
        ...


class Link:
    """A connected server. The callbacks of `PeerHandler` are its inbound side."""

    def __init__(
        self, process: ServerProcess, declared: Mapping[str, Any], on_news: Callable[[str, JSONObject], None]
    ) -> None:
        self.peer = Peer(self._send, self)
        self.declared = declared
        self.greeting = Greeting("", {})
        self.tools = ToolList(())
        self.calls: dict[int, OpenCall] = {}
        """The calls under way, by progress token, oldest first."""
        self.gone = anyio.Event()
        self.epitaph = ""
        """How it ended, once it is gone."""
        self.answered = False
        """Whether any call has been answered: the server does work."""
        self._process = process
        self._on_news = on_news
        self._tokens = 0
        self._questions: WeakValueDictionary[int | str, Question] = WeakValueDictionary()
        """The questions that calls still hold, by id."""
        self._changes = 0
        self._changes_read = 0
        self._resting = False
        self._changed = anyio.Event()
        self._up_to_date = anyio.Event()

    @property
    def usable(self) -> bool:
        """Whether calls can still be made."""
        return not self.gone.is_set()

    def next_token(self) -> int:
        """A progress token that no other call of this link has."""
        self._tokens += 1
        return self._tokens

    async def drain(self) -> None:
        """Wait while the server has fallen far behind in reading."""
        await self._process.drain()

    async def settled_tools(self) -> ToolList:
        """The tools, once every change the server has announced so far has been read.

        Later ones are for later, and one that never stops announcing is read only now and then: it holds nobody up.
        """
        announced = self._changes
        while self._changes_read < announced and not self._resting and not self.gone.is_set():
            await self._up_to_date.wait()
        return self.tools

    def tell_legacy(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification of the client's on; the modern era has no such messages."""
        if not self.greeting.modern:
            self.peer.notify(method, params)

    def set_log_level(self, level: str) -> None:
        """Ask a legacy server that logs for this severity and above; the answer does not matter."""
        if not self.greeting.modern and self.greeting.offers("logging"):
            self.peer.start("logging/setLevel", {"level": level})

    # What the server sends on its own account.

    def on_request(self, request_id: int | str, method: str, params: JSONObject) -> None:
        """Answer a ping, hand a question to a call under way, refuse everything else at once."""
        if method == "ping":
            self.peer.answer(request_id, {})
        elif method not in CAPABILITY_OF or self.greeting.modern:
            self.peer.refuse(request_id, *method_not_found(method))
        elif (missing := self._unsupported(method, params)) is not None:
            self.peer.refuse(request_id, INVALID_REQUEST, f"The client does not support {missing}")
        elif not self.calls:
            self.peer.refuse(request_id, INVALID_REQUEST, "No tool call is under way, so nobody can be asked")
        else:
            self.ask(Question(self.peer, request_id, method, params))

    def on_notification(self, method: str, params: JSONObject) -> None:
        """Route progress, log messages, withdrawn questions and changed tools; ignore the rest."""
        match method:
            case "notifications/progress":
                token = params.get("progressToken")
                if isinstance(token, int) and (call := self.calls.get(token)):
                    call.on_progress(params)
            case "notifications/message":
                if not any(call.on_log(params) for call in self.calls.values()):
                    self._on_news(method, params)
            case "notifications/elicitation/complete":  # often after the call that asked has ended
                self._on_news(method, params)
            case "notifications/cancelled":
                withdrawn = params.get("requestId")
                if isinstance(withdrawn, int | str) and (question := self._questions.pop(withdrawn, None)):
                    question.closed.set()
            case "notifications/tools/list_changed":
                self._changes += 1
                self._changed.set()
            case _:
                pass

    def on_unknown_response(self, message: JSONObject) -> None:
        """Note a response to nothing that was asked; it ends no call."""
        self._process.note(f"(dropped its response to a request that was never sent) {codec.compact(message)}")

    def ask(self, question: Question) -> None:
        """Have a question asked by a call under way, or answer for the user when there is none.

        A legacy server does not say which call its question belongs to. Any call can carry it to the client: the
        answer goes back under the question's own id. One whose client is not busy with a question comes first.
        """
        method, params = question.method, question.params
        able = [call for call in self.calls.values() if missing_capability(call.declared, method, params) is None]
        if not able:
            question.give_up()
            return
        self._questions[question.request_id] = question
        min(able, key=lambda call: call.paused).on_question(question)

    def _unsupported(self, method: str, params: JSONObject) -> str | None:
        """What a question needs that no client of a call under way has, or that the server was told is not there."""
        if (missing := missing_capability(self.declared, method, params)) is not None or not self.calls:
            return missing
        lacking = [missing_capability(call.declared, method, params) for call in self.calls.values()]
        return None if None in lacking else lacking[0]

    # The tasks that keep the link alive.

    async def greet(self, *, legacy_first: bool) -> None:
        """Agree on an era and read the tools; raises what a peer raises."""
        self.greeting = await greet(self.peer, self.declared, legacy_first=legacy_first)

    async def read_tools(self) -> None:
        """Read every page of the tool list."""
        self.tools = await read_tool_list(self.peer, self.greeting, self.declared)

    async def watch(self) -> None:
        """Read until the server is gone, then end every call with the reason."""
        async with anyio.create_task_group() as either:
            either.start_soon(self._read_to_end, either.cancel_scope)
            either.start_soon(self._wait_for_exit, either.cancel_scope)
        self.close(await self._cause_of_death())

    def close(self, epitaph: str) -> None:
        """End every call with the reason and take no further one; only the first reason counts."""
        if self.gone.is_set():
            return
        self.epitaph = epitaph
        self.peer.close(PeerGone(epitaph))
        for question in self._questions.values():
            question.closed.set()
        self.gone.set()
        self._up_to_date.set()

    async def follow_changes(self, patience: float) -> None:
        """Read the tools again, in bounded time, whenever the server says that they changed."""
        if self.greeting.modern and self.greeting.announces_changes:
            meta = self.greeting.stamp({}, self.declared)
            params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
            self.peer.start("subscriptions/listen", params)
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            announced = self._changes
            try:
                with anyio.fail_after(patience):
                    await self.read_tools()
            except (RemoteError, BadAnswer, PeerGone, TimeoutError) as error:
                self._process.note(f"(its changed tool list could not be read: {error or 'no answer'})")
            self._changes_read = announced
            self._resting = self._changed.is_set()
            self._up_to_date.set()
            self._up_to_date = anyio.Event()
            if self._resting:
                await anyio.sleep(_BETWEEN_CHANGES)
                self._resting = False

    async def _cause_of_death(self) -> str:
        """What happened to the process, with its last words."""
        tail = await self._process.last_words()
        return _with_tail(_describe_exit(self._process.returncode), tail)

    async def _read_to_end(self, scope: anyio.CancelScope) -> None:
        try:
            async for line in self._process.lines():
                self._receive(line)
        except (pipes.LineTooLong, OSError) as error:
            self._process.note(f"(its stdout cannot be read any more: {type(error).__name__} {error})")
        scope.cancel()

    def _receive(self, line: bytes) -> None:
        try:
            message = codec.decode(line)
        except codec.Unreadable as error:
            if line.strip():
                self._receive_unreadable(line, error)
        else:
            self.peer.receive(message)

    def _receive_unreadable(self, line: bytes, error: codec.Unreadable) -> None:
        """Note the line, and let nobody wait for what it was meant to say."""
        self._process.note(f"(on stdout, not a protocol message) {line[:_SHOWN].decode(errors='replace')}")
        for request_id in error.responses:
            self.peer.fail(request_id, BadAnswer(f"its response cannot be read: {error}"))
        for request_id in error.requests:
            self._send(error.refusal(request_id))

    def _send(self, message: Mapping[str, Any]) -> None:
        self._process.write(codec.encode(message))

    async def _wait_for_exit(self, scope: anyio.CancelScope) -> None:
        await self._process.wait()
        await anyio.sleep(_LAST_OUTPUT)
        scope.cancel()


@dataclass(frozen=True)
class LinkOptions:
    """How to connect one server."""

    program: Program
    declared: Mapping[str, Any]
    connect_timeout: float
    legacy_first: bool
    on_stderr: Callable[[str], None]
    redact: Redactor
    on_news: Callable[[str, JSONObject], None]


@asynccontextmanager
async def open_link(options: LinkOptions, deadline: float) -> AsyncGenerator[Link]:
    """Start, greet and list a server; yield it connected; end it with the block.

    Raises:
        LinkFailed: It could not be connected before the deadline.
    """
    failure: LinkFailed | None = None
    try:
        running = run_process(options.program, options.on_stderr, options.redact)
        async with running as process, anyio.create_task_group() as tasks:
            link = Link(process, options.declared, options.on_news)
            tasks.start_soon(link.watch)
            try:
                await _connect(link, process, options, deadline)
            except LinkFailed as error:
                failure = error  # raised below: a task group would wrap it
            else:
                tasks.start_soon(link.follow_changes, options.connect_timeout)
                yield link
            finally:
                link.close("stopped by the workbench")
                tasks.cancel_scope.cancel()
    except SpawnFailed as error:
        failure = LinkFailed(str(error))
    if failure is not None:
        raise failure


async def _connect(link: Link, process: ServerProcess, options: LinkOptions, deadline: float) -> None:
    waiting_for = "initialize"
    with anyio.CancelScope(deadline=deadline) as scope:
        try:
            await link.greet(legacy_first=options.legacy_first)
            waiting_for = "tools/list"
            await link.read_tools()
        except PeerGone as gone:
            raise LinkFailed(_before_ready(str(gone)), while_probing=waiting_for == "initialize") from None
        except (RemoteError, BadAnswer) as error:
            reason = _with_tail(f"it refused {waiting_for}: {error}", process.stderr_tail())
            raise LinkFailed(reason, while_probing=waiting_for == "initialize") from None
    if scope.cancelled_caught:
        reason = f"no answer to {waiting_for} within {options.connect_timeout:g} s"
        raise LinkFailed(_with_tail(reason, process.stderr_tail()))


def _describe_exit(returncode: int | None) -> str:
    if returncode is None:
        return "closed its stdout"
    if returncode >= 0:
        return f"exited with status {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def _before_ready(cause: str) -> str:
    first, separator, rest = cause.partition("\n")
    head, colon, more = first.partition("; ")
    return f"{head} before it was ready{colon}{more}{separator}{rest}"


def _with_tail(reason: str, tail: list[str]) -> str:
    return f"{reason}; the last lines of its stderr:\n" + "\n".join(tail) if tail else reason
