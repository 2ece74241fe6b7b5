"""Streamable HTTP: every message is a POST, and a request's response is JSON or a stream of events.

The SDK's `streamable_http_client` was the alternative. It reads messages into models and writes them again, which loses
what it does not know; it gives no HTTP status with a failure, and one sentence for most of them; it sends messages that
are not requests one after another, and its pool slows down with the number of requests under way. So the transport is
our own, on `http_client`, and keeps the SDK's promises: both eras, sessions, resumption, cancellation, redirects.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

import anyio

from mcp_workbench.downstream.transports.exchange import Exchange, Mailbox, answers
from mcp_workbench.downstream.transports.http_client import HttpClient, Response
from mcp_workbench.downstream.transports.http_errors import HttpFailed, describe_page, describe_status
from mcp_workbench.downstream.transports.request_headers import EVENTS, SESSION_HEADER, HeaderMaker
from mcp_workbench.downstream.transports.server_sent_events import EventParser, EventTooLarge
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject

SESSION_LOST = "its session was lost"

_AFTER_RESPONSE = 1.0
"""Seconds for a stream to end after the response on it: a connection that was read to its end can be used again."""

_DELETE = 2.0
"""Seconds for a server to hear that its session is over."""

_TELLING = 60.0
"""Seconds for a server to take what it need not answer."""

_RESUME_AFTER = 1.0
_LONGEST_PAUSE = 30.0
_MAX_FAILURES = 5
"""Attempts in a row to get a stream back."""

_STABLE = 5.0
"""Seconds after which a stream that ended is not one that keeps ending."""

_ERROR_BODY = 64 * 1024

_NOT_OLD = (401, 403, 407, 408, 429)
"""Refusals that say nothing of what the server speaks."""

Start = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


class OldServer(Exception):
    """The server refused a first POST as one does that speaks only the older transport; `str()` is the reason."""


class StreamableHttp:
    """One server's messages over streamable HTTP."""

    def __init__(self, client: HttpClient, mailbox: Mailbox, start: Start, max_message: int) -> None:
        self._client = client
        self._mailbox = mailbox
        self._start = start
        self._max_message = max_message
        self._made = HeaderMaker()
        self._listening = False
        self.session_lost = False

    async def deliver(self, message: Mapping[str, Any], exchange: Exchange | None) -> None:
        """Send a message; for a request, stay until its response or its failure has been passed on.

        Raises:
            HttpFailed: There was no response.
            OldServer: The server seems to speak the older transport.
        """
        if exchange is None:
            await self._tell(message)
        elif exchange.method == "subscriptions/listen":
            await self._subscribe(message, exchange)
        else:
            parser = EventParser(self._max_message)
            await self._ask(message, exchange, parser)
            if not exchange.settled and parser.last_id is not None:
                await self._resume(exchange, parser)

    async def close(self) -> None:
        """Tell the server that the session is over, in bounded time."""
        if self._made.session is None or self.session_lost:
            return
        with anyio.move_on_after(_DELETE, shield=True):
            try:
                async with self._client.request("DELETE", self._made.legacy()) as response:
                    await response.read_beginning(_ERROR_BODY)
            except Exception as error:
                self._mailbox.note(f"(its session could not be ended: {error})")

    # Messages that get no response.

    async def _tell(self, message: Mapping[str, Any]) -> None:
        with anyio.move_on_after(_TELLING) as telling:
            await self._tell_patiently(message)
        if telling.cancelled_caught:
            self._mailbox.note(f"(it took no notice of {message.get('method', 'an answer')} for {_TELLING:g} s)")

    async def _tell_patiently(self, message: Mapping[str, Any]) -> None:
        async with self._client.request("POST", self._made.of(message), codec.encode(message)) as response:
            body = await response.read_beginning(_ERROR_BODY)
        if self._is_lost_session(response, body):
            self.session_lost = True
        elif response.status >= 400:
            reason = describe_status(response.status, response.headers, body, self._mailbox.redact)
            self._mailbox.note(f"(it refused {message.get('method', 'an answer')}: {reason})")
        elif message.get("method") == "notifications/initialized" and self._made.session is not None:
            self._start(self._listen)

    # Requests.

    async def _ask(self, message: Mapping[str, Any], exchange: Exchange, parser: EventParser) -> None:
        async with self._client.request("POST", self._made.of(message), codec.encode(message)) as response:
            if not 200 <= response.status < 300:
                await self._refused(response, exchange)
            elif response.kind == "text/event-stream":
                self._learn_session(exchange, response)
                await self._follow(response, exchange, parser)
            else:
                self._learn_session(exchange, response)
                await self._take_body(response, exchange)

    async def _take_body(self, response: Response, exchange: Exchange) -> None:
        if response.kind not in ("application/json", "text/json"):
            beginning = await response.read_beginning(_ERROR_BODY)
            if response.status in (202, 204) and not beginning:
                raise HttpFailed("it took the request and said that it will not answer")
            raise HttpFailed(describe_page(response.headers, beginning, self._mailbox.redact))
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise HttpFailed("its response is compressed, although it was asked for one that is not")
        body = await response.read(self._max_message)
        if body is None:
            raise HttpFailed(self._too_large())
        try:
            message = codec.decode(body)
        except codec.Unreadable as problem:
            raise HttpFailed(f"its response cannot be read: {problem}") from None
        if not answers(message, exchange):
            raise HttpFailed("its response carries an id that was never asked")
        await self._settle(message, exchange)

    async def _settle(self, message: JSONObject, exchange: Exchange) -> None:
        if exchange.method == "initialize":
            self._made.version = _agreed_version(message.get("result"))
        elif exchange.modern and exchange.method == "tools/list":
            self._made.learn_tools(message.get("result"))
        await self._mailbox.receive({**message, "id": exchange.request_id})

    def _learn_session(self, exchange: Exchange, response: Response) -> None:
        if exchange.method == "initialize":
            self._made.session = response.headers.get(SESSION_HEADER) or self._made.session

    async def _refused(self, response: Response, exchange: Exchange) -> None:
        body = await response.read_beginning(_ERROR_BODY)
        reason = describe_status(response.status, response.headers, body, self._mailbox.redact)
        if not exchange.modern and self._is_lost_session(response, body):
            self.session_lost = True
            await self._mailbox.fail(exchange, SESSION_LOST, not_taken=True)
        elif response.status not in (401, 407, 429) and (error := _json_rpc_error(body)) is not None:
            await self._settle({"jsonrpc": "2.0", "error": error}, exchange)
        elif exchange.method == "server/discover" and response.status not in _NOT_OLD:
            # Whatever it is, it does not know the question; the older handshake will tell.
            await self._settle({"jsonrpc": "2.0", "error": {"code": -32601, "message": reason}}, exchange)
        elif exchange.method == "initialize" and 400 <= response.status < 500 and response.status not in _NOT_OLD:
            raise OldServer(reason)
        else:
            raise HttpFailed(reason)

    def _is_lost_session(self, response: Response, body: bytes) -> bool:
        """Whether the server no longer knows the session, and so did not take the message.

        The protocol has 404 for that. Many a server in TypeScript goes by an old example and says 400, with an error
        that is about the session and belongs to no request.
        """
        if self._made.session is None:
            return False
        if response.status == 404:
            return True
        error = _json_rpc_error(body) if response.status == 400 else None
        return error is not None and "session" in str(error.get("message")).lower()

    # Streams of events.

    async def _follow(self, response: Response, exchange: Exchange | None, parser: EventParser) -> None:
        """Pass on what a stream brings until it ends, or until it has brought the response and does not end."""
        with anyio.CancelScope() as rest:
            try:
                async for piece in response.body:
                    for event in parser.feed(piece):
                        if event.kind == "message":
                            await self._take_event(event.data, exchange)
                    if exchange is not None and exchange.settled:
                        rest.deadline = min(rest.deadline, anyio.current_time() + _AFTER_RESPONSE)
            except EventTooLarge:
                raise HttpFailed(self._too_large()) from None
            except HttpFailed as broken:
                if exchange is None or (not exchange.settled and parser.last_id is None):
                    raise HttpFailed(f"{broken}, before its response") from None
        if exchange is not None and not exchange.settled and parser.last_id is None:
            raise HttpFailed(exchange.unreadable or "its response ended before the result")

    async def _take_event(self, data: bytes, exchange: Exchange | None) -> None:
        try:
            message = codec.decode(data)
        except codec.Unreadable as problem:
            await self._mailbox.take_unreadable(problem)
            if exchange is not None:
                exchange.unreadable = f"its response cannot be read: {problem}"
            return
        if exchange is None or "method" in message:
            await self._mailbox.receive(message)
        elif not exchange.settled and answers(message, exchange):
            await self._settle(message, exchange)
        else:
            self._mailbox.note("(a response with an id that was never asked)")

    async def _resume(self, exchange: Exchange, parser: EventParser) -> None:
        """Get a stream back that broke off, from where it did; the request itself is never sent again."""
        failures = 0
        reason = "its response broke off"
        while not exchange.settled and failures < _MAX_FAILURES:
            await anyio.sleep(_pause(parser, failures))
            headers = {**EVENTS, **self._made.legacy(), "last-event-id": parser.last_id or ""}
            try:
                async with self._client.request("GET", headers) as response:
                    if response.status == 200 and response.kind == "text/event-stream":
                        failures = 0
                        await self._follow(response, exchange, parser)
                        continue
                    reason = describe_status(response.status, response.headers, b"", self._mailbox.redact)
                    failures += 1 if response.status >= 500 else _MAX_FAILURES
            except HttpFailed as failure:
                failures, reason = failures + 1, str(failure)
        if not exchange.settled:
            raise HttpFailed(exchange.unreadable or f"its response broke off and could not be resumed: {reason}")

    async def _subscribe(self, message: Mapping[str, Any], exchange: Exchange) -> None:
        """Keep a subscription, which is a response that never ends, across broken connections."""
        failures = 0
        while True:
            began = anyio.current_time()
            parser = EventParser(self._max_message)
            try:
                await self._ask(message, exchange, parser)
                if exchange.settled:
                    return
                reason = "it ended the subscription"
            except HttpFailed as failure:
                reason = str(failure)
            failures = 0 if anyio.current_time() - began > _STABLE else failures + 1
            if failures >= _MAX_FAILURES:
                raise HttpFailed(reason)
            await anyio.sleep(_pause(parser, failures))
            # Whatever changed meanwhile was not heard.
            await self._mailbox.receive({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    async def _listen(self) -> None:
        """Hear what a legacy server says on its own account, for as long as it offers that."""
        parser = EventParser(self._max_message)
        failures, heard = 0, False
        while failures < _MAX_FAILURES and not self.session_lost:
            began = anyio.current_time()
            resuming = {} if parser.last_id is None else {"last-event-id": parser.last_id}
            try:
                async with self._client.request("GET", {**EVENTS, **self._made.legacy(), **resuming}) as response:
                    if response.status != 200 or response.kind != "text/event-stream":
                        if heard and response.status == 404:
                            self.session_lost = True
                        if not heard or response.status < 500:
                            return
                        failures += 1
                    else:
                        heard = True
                        await self._follow(response, None, parser)
            except HttpFailed as failure:
                if failures == 0:
                    self._mailbox.note(f"(the stream of its own messages broke off: {failure})")
                if failures + 1 >= _MAX_FAILURES and failure.unreachable:
                    raise
            failures = 0 if anyio.current_time() - began > _STABLE else failures + 1
            await anyio.sleep(_pause(parser, failures))

    def _too_large(self) -> str:
        return f"its response is larger than {self._max_message // 1024 // 1024} MiB, and was not read to the end"


def _pause(parser: EventParser, failures: int) -> float:
    """How long to wait before the next attempt: what the server said, or longer with every failure."""
    return min(parser.retry if parser.retry is not None else _RESUME_AFTER * 2**failures, _LONGEST_PAUSE)


def _json_rpc_error(body: bytes) -> JSONObject | None:
    try:
        error = codec.decode(body).get("error")
    except codec.Unreadable:
        return None
    if not isinstance(error, dict) or not isinstance(cast(JSONObject, error).get("message"), str):
        return None
    return cast(JSONObject, error)


def _agreed_version(result: object) -> str | None:
    version = cast(JSONObject, result).get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None
