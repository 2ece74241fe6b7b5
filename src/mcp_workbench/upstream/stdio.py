"""Serving over the process's own stdin and stdout, on the event loop.

While it serves, descriptor 0 reads nothing and descriptor 1 leads to stderr, so that no stray print and no child can
touch the protocol.
"""

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse
from mcp_types.jsonrpc import JSONRPCNotification
from pydantic import ValidationError

from mcp_workbench.jsonrpc import codec, pipes
from mcp_workbench.jsonrpc.codec import JSONObject

logger = logging.getLogger(__name__)

_GOODBYE = 0.5
"""Seconds for the last answers to reach a client that still reads."""

Item = SessionMessage | Exception


class MessageWriter:
    """The stream that the SDK sends messages to: each becomes a line at once, without a task of its own."""

    def __init__(self, writer: pipes.PipeWriter) -> None:
        self._writer = writer

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message, once a client that reads slowly has caught up.

        Waiting comes first: whoever waited for what it has written already would wait for everyone else's as well, and
        under a steady flood no call would ever end.
        """
        await self._writer.drain()
        self._writer.write(_encode(item.message))

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
    send, receive = anyio.create_memory_object_stream[Item](16)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.run)
            tasks.start_soon(_read_messages, stdin, send, writer)
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


async def _read_messages(stdin: int, messages: MemoryObjectSendStream[Item], writer: pipes.PipeWriter) -> None:
    async with messages:
        try:
            async for line in pipes.read_lines(pipes.receiver(stdin)):
                if (message := _decode(line, writer)) is not None:
                    await messages.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("the server no longer reads its input")
        except (OSError, pipes.LineTooLong) as error:
            logger.error("stdin cannot be read any more: %s", error or type(error).__name__)


def _decode(line: bytes, writer: pipes.PipeWriter) -> JSONRPCMessage | None:
    """The message in a line; a line without one is ignored, a broken request is answered."""
    try:
        raw = codec.decode(line)
    except codec.Unreadable:
        if line.strip():
            logger.warning("ignored a line on stdin that is not a JSON-RPC message (%d bytes)", len(line))
        return None
    try:
        return _kind(raw).model_validate(raw)
    except ValidationError:
        logger.warning("ignored a malformed JSON-RPC message on stdin")
        request_id = raw.get("id")
        if not isinstance(request_id, int | str) or isinstance(request_id, bool):
            return None
        error = ErrorData(code=INVALID_REQUEST, message="This is not a JSON-RPC 2.0 message")
        refusal = JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
        if "method" not in raw:  # an answer that is none: whoever asked must not wait for another
            return refusal
        writer.write(_encode(refusal))
        return None


def _kind(raw: JSONObject) -> type[JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError]:
    if "method" in raw:
        return JSONRPCRequest if "id" in raw else JSONRPCNotification
    return JSONRPCError if "error" in raw else JSONRPCResponse


def _encode(message: JSONRPCMessage) -> bytes:
    """A message as a line; results are taken as they are, not walked through by a serialiser."""
    if isinstance(message, JSONRPCResponse):
        return codec.encode({"jsonrpc": "2.0", "id": message.id, "result": message.result})
    return codec.encode(message.model_dump(by_alias=True, exclude_unset=True))
