"""Our relation to one server: started when it is needed, ended when it is not, begun again when it died.

    idle ──▶ connecting ──▶ ready ──▶ waiting (it died, or could not be connected; the next use tries again)
     ▲                        │            │
     └──── unused too long ◀──┘            └──▶ connecting …           stopped: for good

One task owns each run of the server, from its start to its end: `_run` enters the link and leaves it, so that no cancel
scope ever crosses tasks. Everyone else only waits for what comes of it. Nothing is started again while nobody asks, and
a server that keeps dying is given pauses that grow up to a minute.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import anyio
import anyio.abc

from mcp_workbench.config.models import ServerConfig
from mcp_workbench.downstream.backoff import Backoff
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.downstream.connecting import LinkFailed, LinkOptions, open_link
from mcp_workbench.downstream.link import Link
from mcp_workbench.downstream.outside import OutsideQuestions
from mcp_workbench.downstream.questions import PATIENCE, Parking
from mcp_workbench.downstream.reaching import Route
from mcp_workbench.downstream.tool_call import CallTimedOut, Retry, ToolCall
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.downstream.transports.authorization import LoginNeeded
from mcp_workbench.errors import CallFailed, ConnectFailed, LoginRequired, UnknownTool
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import NotDelivered
from mcp_workbench.redaction import Redactor
from mcp_workbench.suggestions import closest

logger = logging.getLogger(__name__)

_STABLE_AFTER = 60.0
"""A server that ran this long, or answered a call, is not one that keeps dying."""

_LAST_CALLS = 10.0
"""Seconds that the calls under way have to finish when their server is to end or to start afresh."""

_LEAVING = "the workbench is shutting down"

OnNotification = Callable[[str, str, JSONObject], None]
"""Hears what a server tells outside any call: its toolbox and name, the notification's method and params."""

OnState = Callable[[str, str, str, str], None]
"""Hears of every change of a server's state: its toolbox and name, the state, and how it came to it."""

Admit = Callable[[ToolList], ToolList]
"""Which of a server's tools are offered."""


MAX_CALLS = 25_000
"""Calls of one server that may be under way, those included that wait for their client's answers."""


class State(Enum):
    """How a connection stands."""

    IDLE = "idle"
    CONNECTING = "connecting"
    READY = "ready"
    WAITING = "waiting"
    STOPPED = "stopped"


_LOG_LEVELS = {
    State.IDLE: logging.INFO,
    State.CONNECTING: logging.DEBUG,
    State.READY: logging.INFO,
    State.WAITING: logging.WARNING,
    State.STOPPED: logging.DEBUG,
}


@dataclass(frozen=True)
class Shared:
    """What all connections have in common."""

    tasks: anyio.abc.TaskGroup
    redact: Redactor
    parking: Parking
    outside: OutsideQuestions
    on_notification: OnNotification
    on_state: OnState = lambda toolbox, server, state, line: None


@dataclass
class Run:
    """One run of a server, shared by everyone who waits for it to begin."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    begun: anyio.Event = field(default_factory=anyio.Event)
    """There is an outcome: a link, or a failure."""
    over: anyio.Event = field(default_factory=anyio.Event)
    """Nothing of it is left."""
    link: Link | None = None
    failure: LinkFailed = field(default_factory=lambda: LinkFailed(_LEAVING))


class Connection:
    """Our relation to one server of one toolbox, across all its runs."""

    def __init__(self, toolbox: str, server: str, config: ServerConfig, shared: Shared, admit: Admit) -> None:
        self.toolbox = toolbox
        self.server = server
        self.config = config
        self.state = State.IDLE
        self.time_to_ready: float | None = None
        self.transport: str | None = None
        """How the server was reached in its last run."""
        self.instructions: str | None = None
        """What the server says about itself, as of its last run."""
        self._shared = shared
        self._admit = admit
        self._route = Route(toolbox, server, config, shared.redact, self._note)
        self._run: Run | None = None
        self._declared: Mapping[str, Any] = {}
        self._tools: ToolList | None = None
        self._legacy_first = False
        self._log_level: str | None = None
        self._backoff = Backoff()
        self._users = 0
        self._less_used = anyio.Event()
        self._last_used = 0.0
        self._answers_due: deque[float] = deque()

    @property
    def origin(self) -> str:
        """Toolbox and server, as log lines name them."""
        return f"{self.toolbox}/{self.server}"

    @property
    def has_run(self) -> bool:
        """Whether the server was ever started, or tried to be."""
        return self._run is not None

    @property
    def known_tools(self) -> ToolList | None:
        """The tools that it offers as far as they are known, without asking the server."""
        return self._tools

    async def open(self, caller: Caller) -> ToolList:
        """The server's tools, connecting it if need be; one that was only unused stays stopped.

        Raises:
            ConnectFailed: It cannot be connected, or not yet again.
        """
        if self.state is State.IDLE and self._tools is not None:
            self._tools = self._admit(self._tools.source or self._tools)
            return self._tools
        return await self._current_tools(await self._connected(caller))

    async def call(self, tool: str, arguments: Mapping[str, Any], caller: Caller) -> JSONObject:
        """Use a tool: its result as it came, or questions for the client, which then calls again with its answers.

        Raises:
            ConnectFailed: The server cannot be connected, or not yet again.
            UnknownTool: It has no such tool, or the filter leaves it out.
            CallFailed: More calls are under way than there may be.
            MCPError: The client's retry leads nowhere.
            RemoteError, BadAnswer, PeerGone, CallTimedOut: There is no result.
        """
        resumed = None
        if caller.state is not None:
            resumed = self._shared.parking.resumption(caller)
            self._answer_came()
        with self._in_use():
            if resumed is not None and resumed.parked is not None:
                result = await self._shared.parking.converse(resumed.parked)
            else:
                result = await self._call_anew(tool, arguments, caller, resumed.retry if resumed else None)
        if result.get("resultType") == "input_required":
            self._expect_answer()
        return result

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification of the client's to a legacy server that is connected."""
        if link := self._ready_link():
            link.tell_legacy(method, params)

    def set_log_level(self, level: str) -> None:
        """Ask a legacy server for log messages of this severity and above, now and in every later run."""
        self._log_level = level
        if link := self._ready_link():
            link.set_log_level(level)

    def admit_by(self, admit: Admit) -> None:
        """Offer other tools of the same server from now on."""
        self._admit = admit
        if self._tools is not None and self._tools.source is not None:
            self._tools = admit(self._tools.source)

    async def retire(self, why: str = "the config changed") -> None:
        """Let a start and the calls under way finish, in bounded time, and end the server for good."""
        with anyio.move_on_after(_LAST_CALLS):
            if self._run is not None:
                await self._run.begun.wait()
            while self._is_used():
                await self._less_used.wait()
        await self.stop(why)

    async def stop(self, why: str = _LEAVING) -> None:
        """End the server and never start it again."""
        self._become(State.STOPPED, f"stopped: {why}")
        if self._run is not None:
            if not self._run.begun.is_set():
                self._run.failure = LinkFailed(why)
            self._run.scope.cancel()
            await self._run.over.wait()
        self._route.close()

    # One run of the server, in the task that owns it: every transition is here.

    def _begin_run(self, caller: Caller) -> Run:
        self._become(State.CONNECTING, "starting")
        self._run = run = Run()
        self._declared = caller.declared
        self._shared.tasks.start_soon(self._own, run)
        return run

    async def _own(self, run: Run) -> None:
        try:
            with run.scope:
                await self._connect_and_serve(run)
        except LinkFailed as failure:
            self._could_not_start(run, failure)
        except Exception:
            logger.exception("%s: an error of the workbench's own ended this connection", self.origin)
            self._could_not_start(run, LinkFailed("an error of the workbench's own, which its log describes"))
        finally:
            run.begun.set()
            run.over.set()

    async def _connect_and_serve(self, run: Run) -> None:
        """Connect; if the server did not survive the question for its era, once more with the older greeting first."""
        await self._route.prepare()
        began = anyio.current_time()
        deadline = began + self.config.connect_timeout
        for legacy_first in (True,) if self._legacy_first else (False, True):
            self._legacy_first = False  # unless this run shows it again: a server may have been replaced
            try:
                async with open_link(self._route.reached(), self._link_options(legacy_first), deadline) as link:
                    self._started(run, link, anyio.current_time() - began)
                    ended = await self._serve(link)
                ended(link, anyio.current_time() - began)
                return
            except LinkFailed as failure:
                if legacy_first or not failure.may_need_legacy_first:
                    raise

    async def _serve(self, link: Link) -> Callable[[Link, float], None]:
        """Wait until the server is gone or has been unused for too long; which of them it was."""
        while True:
            with anyio.CancelScope(deadline=self._unused_until(link)):
                await link.gone.wait()
                return self._died
            if anyio.current_time() >= self._unused_until(link):
                # In the same step as the decision: no call may slip in between.
                link.close("stopped because nobody used it")
                return self._unused

    def _started(self, run: Run, link: Link, seconds: float) -> None:
        self._become(State.READY, f"started (in {seconds:.1f} s, tools: {len(link.tools)})")
        self.time_to_ready = seconds
        self.transport = link.transport
        self.instructions = link.greeting.instructions
        self._last_used = anyio.current_time()
        self._legacy_first = not link.greeting.modern
        if self._log_level is not None:
            link.set_log_level(self._log_level)
        run.link = link
        run.begun.set()

    def _unused(self, link: Link, seconds: float) -> None:
        self._tools = self._admit(link.tools)
        self._backoff.worked()
        self._become(State.IDLE, f"stopped after {self.config.idle_timeout:g} s without use")

    def _died(self, link: Link, seconds: float) -> None:
        if link.answered or seconds > _STABLE_AFTER:
            self._backoff.worked()
        next_try = self._backoff.failed(link.end_reason)
        self._become(State.WAITING, f"lost ({next_try}): {link.end_reason}")

    def _could_not_start(self, run: Run, failure: LinkFailed) -> None:
        run.failure = failure
        if isinstance(failure.cause, LoginNeeded):
            # Not counted: it helps nobody to wait after the login that this asks for.
            self._become(State.WAITING, f"could not be started: {failure}")
            return
        next_try = self._backoff.failed(str(failure))
        self._become(State.WAITING, f"could not be started ({next_try}): {failure}")

    def _become(self, state: State, line: str) -> None:
        """Change the state, with a line in the log that a person understands."""
        if self.state is not State.STOPPED:  # which is for good
            self.state = state
            logger.log(_LOG_LEVELS[state], "%s: %s", self.origin, line)
            self._shared.on_state(self.toolbox, self.server, state.value, line)

    def _link_options(self, legacy_first: bool) -> LinkOptions:
        shared = self._shared
        return LinkOptions(
            declared=self._declared,
            connect_timeout=self.config.connect_timeout,
            legacy_first=legacy_first,
            on_notification=lambda method, params: shared.on_notification(self.origin, method, params),
            on_question=lambda question: shared.outside.put(self.toolbox, question),
        )

    def _note(self, line: str) -> None:
        logger.debug("%s: stderr: %s", self.origin, line)

    # Everyone else waits for a run to begin, and begins one when there is none.

    async def _connected(self, caller: Caller) -> Link:
        while (run := self._run_to_join(caller)) is not None:
            await run.begun.wait()
            if run.link is None:
                raise self._failed_because(run.failure)
            if run.link.usable:
                return run.link
            # This run is ending; only when nothing is left of it may the next one begin.
            await run.over.wait()
        raise self._failed_because(LinkFailed(_LEAVING))

    def _run_to_join(self, caller: Caller) -> Run | None:
        if self.state is State.STOPPED:
            return None
        if self.state in (State.CONNECTING, State.READY):
            return self._run
        if (refusal := self.config.unavailable or self._backoff.refusal()) is not None:
            raise self._failed_because(LinkFailed(refusal))
        return self._begin_run(caller)

    def _failed_because(self, failure: LinkFailed) -> ConnectFailed:
        reason = self._shared.redact(self._route.explained(str(failure)))
        if isinstance(failure.cause, LoginNeeded):
            return LoginRequired(self.toolbox, self.server, reason, failure.cause.begin)
        return ConnectFailed(self.toolbox, self.server, reason)

    def _ready_link(self) -> Link | None:
        return self._run.link if self._run is not None and self.state is State.READY else None

    # Calls, and who uses the server.

    async def _call_anew(
        self, tool: str, arguments: Mapping[str, Any], caller: Caller, retry: Retry | None
    ) -> JSONObject:
        """Send a call; once more if its server certainly did not take it, since it had forgotten our session."""
        call = await self._begin(tool, arguments, caller, retry)
        try:
            return await self._shared.parking.converse(call)
        except NotDelivered as failure:
            if not failure.not_taken:
                raise
        await call.link.gone.wait()
        return await self._shared.parking.converse(await self._begin(tool, arguments, caller, retry))

    async def _begin(
        self, tool: str, arguments: Mapping[str, Any], caller: Caller, retry: Retry | None = None
    ) -> ToolCall:
        link = await self._connected(caller)
        tools = await self._current_tools(link)
        if tool not in tools:
            raise UnknownTool(
                f"Tool '{tool}' not found in server '{self.server}' (toolbox '{self.toolbox}')"
                + closest(tool, tools.names, "tool")
            )
        timeout = self.config.call_timeout
        await _room_to_write(link, timeout)
        if len(link.calls) >= MAX_CALLS:
            reason = f"{MAX_CALLS:,} calls of this server are under way, as many as there may be"
            raise CallFailed(self.toolbox, self.server, tool, reason)
        return ToolCall(link, tool, arguments, caller, origin=self.origin, timeout=timeout).begin(retry)

    @contextmanager
    def _in_use(self) -> Generator[None]:
        """Keep the server for the length of a call, however long it is unused otherwise."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._last_used = anyio.current_time()
            self._less_used.set()
            self._less_used = anyio.Event()

    def _expect_answer(self) -> None:
        """Keep the server while its client's user thinks about a question."""
        while self._answers_due and self._answers_due[0] < anyio.current_time():
            self._answers_due.popleft()
        self._answers_due.append(anyio.current_time() + PATIENCE)

    def _answer_came(self) -> None:
        """Keep the server for one question less; the deadlines of the others are later, and stand."""
        if self._answers_due:
            self._answers_due.popleft()

    def _is_used(self) -> bool:
        return bool(self._users or ((link := self._ready_link()) and link.calls))

    def _unused_until(self, link: Link) -> float:
        """When the server will have been unused for too long, if nothing changes; never while a call is under way."""
        if self.config.idle_timeout is None:
            return math.inf
        used = anyio.current_time() if self._users or link.calls else self._last_used
        return max(used + self.config.idle_timeout, *self._answers_due, 0.0)

    # Tools.

    async def _current_tools(self, link: Link) -> ToolList:
        # Each time, since what is admitted may have changed; for the same tools it gives the same list.
        self._tools = self._admit(await link.settled_tools())
        return self._tools


async def _room_to_write(link: Link, patience: float | None) -> None:
    with anyio.move_on_after(patience) as waiting:
        await link.drain()
    if waiting.cancelled_caught:
        raise CallTimedOut(f"not sent within {patience:g} s (callTimeout): the server does not read its input")
