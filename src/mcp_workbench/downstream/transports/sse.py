"""The older HTTP transport: one stream of events for all that the server says, and a POST for every message to it.

The stream is the session. It names the address that messages are posted to, and when it ends the session is over:
there is nothing to resume.
"""

from collections.abc import Mapping
from typing import Any

import anyio

from mcp_workbench.downstream.transports.exchange import Exchange, Mailbox
from mcp_workbench.downstream.transports.http_client import Address, HttpClient, Response
from mcp_workbench.downstream.transports.http_errors import HttpFailed, describe_page, describe_status
from mcp_workbench.downstream.transports.request_headers import ACCEPTED, EVENTS
from mcp_workbench.downstream.transports.server_sent_events import Event, EventParser, EventTooLarge
from mcp_workbench.downstream.transports.streamable_http import SESSION_LOST, Start
from mcp_workbench.downstream.transports.transport import TransportFailed
from mcp_workbench.jsonrpc import codec

_ERROR_BODY = 64 * 1024


class LegacySse:
    """One server's messages over the older transport."""

    def __init__(self, client: HttpClient, mailbox: Mailbox, start: Start, max_message: int) -> None:
        self._client = client
        self._mailbox = mailbox
        self._start = start
        self._max_message = max_message
        self._endpoint: Address | None = None
        self._failure: Exception | None = None
        self._decided: anyio.Event | None = None
        self.session_lost = False

    async def deliver(self, message: Mapping[str, Any], exchange: Exchange | None) -> None:
        """Post a message; a request's response comes by the stream.

        Raises:
            HttpFailed: It could not be delivered.
        """
        endpoint = await self.connected()
        async with self._client.request("POST", ACCEPTED, codec.encode(message), endpoint) as response:
            body = await response.read_beginning(_ERROR_BODY)
        if response.status < 400:
            return
        reason = describe_status(response.status, response.headers, body, self._mailbox.redact)
        if response.status == 404:
            self.session_lost = True
            if exchange is not None:
                await self._mailbox.fail(exchange, SESSION_LOST, not_taken=True)
        elif exchange is not None:
            raise HttpFailed(reason)
        else:
            self._mailbox.note(f"(it refused {message.get('method', 'an answer')}: {reason})")

    async def connected(self) -> Address:
        """Where messages are posted to, once the stream has said so.

        Raises:
            HttpFailed: There is no such stream.
        """
        if self._decided is None:
            self._decided = anyio.Event()
            self._start(self._listen)
        await self._decided.wait()
        if self._failure is not None:
            raise self._failure
        assert self._endpoint is not None
        return self._endpoint

    async def close(self) -> None:
        """Nothing is left to do: the session ends with its stream."""

    async def _listen(self) -> None:
        assert self._decided is not None
        try:
            async with self._client.request("GET", EVENTS) as response:
                await self._follow(response)
            raise HttpFailed("it closed its stream of events")
        except (HttpFailed, TransportFailed) as failure:
            if self._endpoint is None:
                self._failure = failure
            else:
                self._mailbox.end(str(failure))
        finally:
            self._decided.set()

    async def _follow(self, response: Response) -> None:
        if response.status != 200:
            body = await response.read_beginning(_ERROR_BODY)
            raise HttpFailed(describe_status(response.status, response.headers, body, self._mailbox.redact))
        if response.kind != "text/event-stream":
            body = await response.read_beginning(_ERROR_BODY)
            raise HttpFailed(describe_page(response.headers, body, self._mailbox.redact))
        parser = EventParser(self._max_message)
        try:
            async for piece in response.body:
                for event in parser.feed(piece):
                    await self._take(event)
        except EventTooLarge:
            raise HttpFailed(f"it sent an event larger than {self._max_message // 1024 // 1024} MiB") from None

    async def _take(self, event: Event) -> None:
        assert self._decided is not None
        if event.kind == "endpoint" and self._endpoint is None:
            self._endpoint = self._client.resolve(event.data.decode(errors="replace"))
            self._decided.set()
        elif event.kind == "message":
            try:
                message = codec.decode(event.data)
            except codec.Unreadable as problem:
                await self._mailbox.take_unreadable(problem)
            else:
                await self._mailbox.receive(message)
