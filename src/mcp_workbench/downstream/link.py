"""A server to which there is a transport: what we send it, and where what it sends goes.

It does not know whether the server is a program or an address. What the server sends of its own accord (progress, log
messages, questions, changes) is routed to the tool calls under way. `connecting.open_link` makes links.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from weakref import WeakValueDictionary

import anyio
from mcp_types import INVALID_REQUEST

from mcp_workbench.downstream.caller import CAPABILITY_OF, missing_capability
from mcp_workbench.downstream.handshake import Greeting, greet
from mcp_workbench.downstream.notification_queue import Allowance
from mcp_workbench.downstream.question import Question
from mcp_workbench.downstream.tool_list import ToolList, read_tool_list
from mcp_workbench.downstream.transports.transport import NoResponse, Transport, TransportFailed
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer, NotDelivered, PeerGone, RemoteError, method_not_found
from mcp_workbench.jsonrpc.peer import Peer

MAX_QUESTIONS = 100
"""Questions that may be open for each call under way; a server that floods them fills no memory."""

_BETWEEN_CHANGES = 0.2
"""Seconds between two readings of the tools of a server that announces a change while they are read."""

OnNotification = Callable[[str, JSONObject], None]
"""Hears what a server tells outside any call: the notification's method and params."""

OnQuestion = Callable[[Question], None]
"""Takes what a server asks while no call is under way, to be answered at some time."""


class CallUnderWay(Protocol):
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
        self,
        transport: Transport,
        declared: Mapping[str, Any],
        on_notification: OnNotification,
        on_question: OnQuestion,
    ) -> None:
        self.peer = Peer(transport.send, self)
        self.declared = declared
        self.greeting = Greeting("", {})
        self.tools = ToolList(())
        self.calls: dict[int, CallUnderWay] = {}
        """The calls under way, by progress token, oldest first."""
        self.allowance = Allowance()
        self.telling = anyio.Lock()
        """Held by the one call that tells its client something: a server with many calls has no larger share of the
        client's pipe than one with few."""
        self.gone = anyio.Event()
        self.end_reason = ""
        """How it ended, once it is gone."""
        self.failure: TransportFailed | None = None
        """What ended it, where the server itself did not: `LoginNeeded`, for one."""
        self.answered = False
        """Whether any call has been answered: the server does work."""
        self._transport = transport
        self._on_notification = on_notification
        self._on_question = on_question
        self._tokens = 0
        self._questions: WeakValueDictionary[int | str, Question] = WeakValueDictionary()
        """The questions that calls still hold, by id."""
        self._changes = 0
        self._changes_read = 0
        self._resting = False
        self._changed = anyio.Event()
        self._up_to_date = anyio.Event()

    @property
    def transport(self) -> str:
        """How the server is reached."""
        return self._transport.kind

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
        await self._transport.drain()

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
        elif len(self._questions) >= MAX_QUESTIONS * max(1, len(self.calls)):
            self.peer.refuse(request_id, INVALID_REQUEST, "Too many questions wait for their answers")
        else:
            question = self._questions[request_id] = Question(self.peer, request_id, method, params)
            self._route(question)

    def _route(self, question: Question) -> None:
        if self.calls:
            self.ask(question)
        else:
            self._on_question(question)

    def on_notification(self, method: str, params: JSONObject) -> None:
        """Route progress, log messages, withdrawn questions and changed tools; ignore the rest."""
        match method:
            case "notifications/progress":
                token = params.get("progressToken")
                if isinstance(token, int) and (call := self.calls.get(token)):
                    call.on_progress(params)
            case "notifications/message":
                if not any(call.on_log(params) for call in self.calls.values()):
                    self._on_notification(method, params)
            case "notifications/elicitation/complete":  # often after the call that asked has ended
                self._on_notification(method, params)
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
        self._transport.note(f"(dropped its response to a request that was never sent) {codec.compact(message)}")

    def ask(self, question: Question) -> None:
        """Have a question asked by a call under way, or answer for the user when there is none.

        A legacy server does not say which call its question belongs to. Any call can carry it to the client: the
        answer goes back under the question's own id. One whose client is not busy with a question comes first.
        """
        if (call := self._call_to_ask(question.method, question.params)) is None:
            question.give_up()
            return
        self._questions[question.request_id] = question
        call.on_question(question)

    def _call_to_ask(self, method: str, params: JSONObject) -> CallUnderWay | None:
        paused = None
        for call in self.calls.values():
            if (paused is None or not call.paused) and missing_capability(call.declared, method, params) is None:
                if not call.paused:
                    return call
                paused = call
        return paused

    def _unsupported(self, method: str, params: JSONObject) -> str | None:
        """What a question needs that no client of a call under way has, or that the server was told is not there."""
        if (missing := missing_capability(self.declared, method, params)) is not None or not self.calls:
            return missing
        first = None
        for call in self.calls.values():
            if (missing := missing_capability(call.declared, method, params)) is None:
                return None
            first = first or missing
        return first

    # The tasks that keep the link alive.

    async def greet(self, *, legacy_first: bool) -> None:
        """Agree on an era and read the tools; raises what a peer raises."""
        self.greeting = await greet(self.peer, self.declared, legacy_first=legacy_first)

    async def read_tools(self) -> None:
        """Read every page of the tool list."""
        self.tools = await read_tool_list(self.peer, self.greeting, self.declared)

    async def watch(self) -> None:
        """Read until the server is gone, then end every call with the reason."""
        try:
            async for received in self._transport.messages():
                if isinstance(received, NoResponse):
                    failure = NotDelivered(received.reason, not_taken=received.not_taken, cause=received.cause)
                    self.peer.fail(received.request_id, failure)
                else:
                    self.peer.receive(received)
        except TransportFailed as failure:
            self.failure = failure
            self.close(str(failure))
        else:
            self.close(await self._transport.end_reason())

    def close(self, reason: str) -> None:
        """End every call with the reason and take no further one; only the first reason counts."""
        if self.gone.is_set():
            return
        self.end_reason = reason
        self.peer.close(PeerGone(reason))
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
                self._transport.note(f"(its changed tool list could not be read: {error or 'no answer'})")
            self._changes_read = announced
            self._resting = self._changed.is_set()
            self._up_to_date.set()
            self._up_to_date = anyio.Event()
            if self._resting:
                await anyio.sleep(_BETWEEN_CHANGES)
                self._resting = False
