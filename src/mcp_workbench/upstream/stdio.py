"""Serving over the process's own stdin and stdout, on the event loop.

While it serves, descriptor 0 reads nothing and descriptor 1 leads to stderr, so that no stray print and no child can
touch the protocol.
"""

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp_types.jsonrpc import JSONRPCNotification
from pydantic import ValidationError

from mcp_workbench.jsonrpc import codec, pipes
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.upstream.session import ClientSession

logger = logging.getLogger(__name__)

_GOODBYE = 0.5
"""Seconds for the last answers to reach a client that still reads."""

Item = SessionMessage | Exception

_TEXT_ID = "text:"
"""Stands before every id that is a text while the SDK holds it, which takes "1" and 1 for the same request."""


MAX_WAITING = 256 * 1024 * 1024
"""Bytes of results that wait for a client that does not read."""

_DROPPED = f"The result was dropped: {MAX_WAITING >> 20} MB of results wait for a client that does not read"


class MessageWriter:
    """The stream that the SDK sends messages to: each becomes a line at once, without a task of its own."""

    def __init__(self, writer: pipes.PipeWriter) -> None:
        self._writer = writer
        self._waiting = 0

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message, once a client that reads slowly has caught up.

        Waiting comes first: whoever waited for what it has written already would wait for everyone else's as well, and
        under a steady flood no call would ever end. At the end nobody waits: thousands of calls end at once then.
        """
        line = _encode(item.message)
        if not _says_that_we_leave(item.message) and self._writer.unsent > pipes.BACKLOG:
            line = await self._waited(line, item.message)
        self._writer.write(line)

    async def _waited(self, line: bytes, message: JSONRPCMessage) -> bytes:
        """The line when it is its turn, or at once the reason why it is not, when too many results wait already."""
        if isinstance(message, JSONRPCResponse) and self._waiting + len(line) > MAX_WAITING:
            error = ErrorData(code=INTERNAL_ERROR, message=_DROPPED)
            return _encode(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
        self._waiting += len(line)
        try:
            await self._writer.drain()
        finally:
            self._waiting -= len(line)
        return line

    async def aclose(self) -> None:
        """Nothing to close: the descriptor is not ours."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def stdio_streams() -> AsyncGenerator[tuple[MemoryObjectReceiveStream[Item], MessageWriter]]:
    """The streams to run a server on; the first ends when stdin does."""
    stdin, stdout = _claim_standard_streams()
    writer = pipes.PipeWriter(stdout)
    session = ClientSession(writer)
    send, receive = anyio.create_memory_object_stream[Item](16)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.run)
            tasks.start_soon(session.run)
            tasks.start_soon(_read_messages, stdin, send, session, writer)
            yield receive, MessageWriter(writer)
            with anyio.move_on_after(_GOODBYE, shield=True):
                await writer.flush()
            tasks.cancel_scope.cancel()
    finally:
        send.close()
        receive.close()
        writer.restore()


def _claim_standard_streams() -> tuple[int, int]:
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


async def _read_messages(
    stdin: int, messages: MemoryObjectSendStream[Item], session: ClientSession, writer: pipes.PipeWriter
) -> None:
    metadata = ServerMessageMetadata(request_context=session)
    async with messages:
        try:
            async for line in pipes.read_lines(pipes.receiver(stdin)):
                if (raw := _decode(line, session, writer)) is None:
                    continue
                if "method" not in raw:
                    session.receive_answer(raw)
                elif (message := _for_sdk(raw, writer)) is not None:
                    await messages.send(SessionMessage(message, metadata))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("the server no longer reads its input")
        except (OSError, pipes.LineTooLong) as error:
            logger.error("stdin cannot be read any more: %s", error or type(error).__name__)
        finally:
            session.close()


def _decode(line: bytes, session: ClientSession, writer: pipes.PipeWriter) -> JSONObject | None:
    """The message in a line. One that cannot be read is ignored, and nobody waits for what it was meant to say."""
    try:
        return codec.decode(line)
    except codec.Unreadable as error:
        if line.strip():
            logger.warning("a line on stdin (%d bytes) cannot be read: %s", len(line), error)
        for request_id in error.responses:
            session.cannot_read_answer(request_id, str(error))
        for request_id in error.requests:
            writer.write(codec.encode(error.refusal(request_id)))
        return None


def _for_sdk(raw: JSONObject, writer: pipes.PipeWriter) -> JSONRPCRequest | JSONRPCNotification | None:
    """A request or notification as the SDK takes it; a broken request is answered."""
    kind = JSONRPCRequest if "id" in raw else JSONRPCNotification
    try:
        return kind.model_validate(_with_distinct_ids(raw))
    except ValidationError:
        logger.warning("ignored a malformed JSON-RPC message on stdin")
        request_id = raw.get("id")
        if isinstance(request_id, int | str) and not isinstance(request_id, bool):
            error = {"code": INVALID_REQUEST, "message": "This is not a JSON-RPC 2.0 message"}
            writer.write(codec.encode({"jsonrpc": "2.0", "id": request_id, "error": error}))
        return None


def _with_distinct_ids(raw: JSONObject) -> JSONObject:
    """The message with the ids in it so that the SDK does not mistake one for another."""
    if isinstance(raw.get("id"), str):
        return {**raw, "id": _TEXT_ID + raw["id"]}
    params = raw.get("params")
    if raw["method"] == "notifications/cancelled" and isinstance(params, dict):
        cancelled = cast(JSONObject, params).get("requestId")
        if isinstance(cancelled, str):
            return {**raw, "params": {**params, "requestId": _TEXT_ID + cancelled}}
    return raw


def _says_that_we_leave(message: JSONRPCMessage) -> bool:
    return isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED


def _encode(message: JSONRPCMessage) -> bytes:
    """A message of the SDK's as a line; what is in it is taken as it is, not walked through by a serialiser."""
    encoded: JSONObject = {"jsonrpc": "2.0"}
    if not isinstance(message, JSONRPCNotification):
        own = message.id
        encoded["id"] = own.removeprefix(_TEXT_ID) if isinstance(own, str) else own
    if isinstance(message, JSONRPCResponse):
        encoded["result"] = message.result
    elif isinstance(message, JSONRPCError):
        error = message.error
        encoded["error"] = {"code": error.code, "message": error.message}
        if error.data is not None:
            encoded["error"]["data"] = error.data
    else:
        encoded["method"] = message.method
        if message.params is not None:
            encoded["params"] = message.params
    return codec.encode(encoded)
