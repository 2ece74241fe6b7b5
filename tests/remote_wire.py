"""A conversation with a remote server through the transport alone: messages in, messages out, nothing in between."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from mcp_workbench.downstream.transports.authorization import Authorization
from mcp_workbench.downstream.transports.remote import RemoteAddress, RemoteTransport, open_remote
from mcp_workbench.downstream.transports.transport import NoResponse, TransportFailed
from mcp_workbench.redaction import Redactor
from wire import LEGACY_VERSION, MODERN_VERSION, PREFIX, Era, Json

PATIENCE = 15.0
CLIENT = {"name": "wire-test", "version": "1.0"}


class Talk:
    """What was sent and received over one transport."""

    def __init__(self, transport: RemoteTransport, era: Era) -> None:
        self.transport = transport
        self.era: Era = era
        self.capabilities: Json = {}
        self.received: list[Json] = []
        self.failures: list[NoResponse] = []
        self.ended = anyio.Event()
        self.failure: TransportFailed | None = None
        self._news = anyio.Event()
        self._last_id = 0

    def start(self, method: str, params: Json | None = None) -> int:
        """Send a request without waiting; its id."""
        self._last_id += 1
        stamped = {**(params or {}), **self._meta(params)}
        self.transport.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": stamped})
        return self._last_id

    def notify(self, method: str, params: Json | None = None) -> None:
        self.transport.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def cancel(self, request_id: int) -> None:
        self.notify("notifications/cancelled", {"requestId": request_id, "reason": "not wanted"})

    async def outcome(self, request_id: int) -> Json | NoResponse:
        """The raw response to a request, or why there is none."""

        def found() -> Json | NoResponse | None:
            answers = [m for m in self.received if "method" not in m and m.get("id") == request_id]
            failed = [failure for failure in self.failures if failure.request_id == request_id]
            return next(iter([*answers, *failed]), None)

        with anyio.fail_after(PATIENCE):
            while (outcome := found()) is None:
                assert not self.ended.is_set(), f"ended before the outcome: {await self.transport.end_reason()}"
                await self._news.wait()
            return outcome

    async def request(self, method: str, params: Json | None = None) -> Json:
        """The result of a request that has one."""
        outcome = await self.outcome(self.start(method, params))
        assert isinstance(outcome, dict), outcome
        assert "result" in outcome, outcome
        return outcome["result"]

    async def reason(self, method: str, params: Json | None = None) -> str:
        """Why a request has no response."""
        outcome = await self.outcome(self.start(method, params))
        assert isinstance(outcome, NoResponse), outcome
        assert not outcome.not_taken
        return outcome.reason

    async def call(self, tool: str, arguments: Json | None = None) -> Json:
        return await self.request("tools/call", {"name": tool, "arguments": arguments or {}})

    def start_call(self, tool: str, arguments: Json | None = None, *, token: int | None = None) -> int:
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        return self.start("tools/call", {"name": tool, "arguments": arguments or {}, **meta})

    async def greet(self) -> Json:
        """Perform the era's handshake."""
        if self.era == "modern":
            return await self.request("server/discover")
        hello = {"protocolVersion": LEGACY_VERSION, "capabilities": self.capabilities, "clientInfo": CLIENT}
        result = await self.request("initialize", hello)
        self.notify("notifications/initialized")
        return result

    async def heard(self, method: str, count: int = 1) -> list[Json]:
        """The messages of this method, once there are so many."""
        with anyio.fail_after(PATIENCE):
            while len(found := [m for m in self.received if m.get("method") == method]) < count:
                await self._news.wait()
            return found

    async def end(self) -> str:
        """Wait for the end; its reason."""
        with anyio.fail_after(PATIENCE):
            await self.ended.wait()
        return await self.transport.end_reason()

    async def read(self) -> None:
        try:
            async for received in self.transport.messages():
                if isinstance(received, NoResponse):
                    self.failures.append(received)
                else:
                    self.received.append(received)
                self._tell()
        except TransportFailed as failure:
            self.failure = failure
        self.ended.set()
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    def _meta(self, params: Json | None) -> Json:
        if self.era == "legacy":
            return {}
        envelope = {
            PREFIX + "protocolVersion": MODERN_VERSION,
            PREFIX + "clientInfo": CLIENT,
            PREFIX + "clientCapabilities": self.capabilities,
        }
        return {"_meta": {**((params or {}).get("_meta") or {}), **envelope}}


@asynccontextmanager
async def talking(
    url: str,
    era: Era = "legacy",
    *,
    headers: Mapping[str, str] | None = None,
    authorization: Authorization | None = None,
    secrets: tuple[str, ...] = (),
    **address: Any,
) -> AsyncGenerator[Talk]:
    """Open a transport and read what it receives, until the block ends."""
    notes: list[str] = []
    redact = Redactor([*(headers or {}).values(), *secrets])
    remote = RemoteAddress(url, headers or {}, **address)
    failure: BaseException | None = None
    async with open_remote(remote, redact=redact, on_note=notes.append, authorization=authorization) as transport:
        talk = Talk(transport, era)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.read)
            try:
                yield talk
            except Exception as raised:
                failure = raised  # kept out of the task group, which would wrap it
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
