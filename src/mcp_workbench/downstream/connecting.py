"""From a transport to a link that can be used: greeted, and asked for its tools, before a deadline.

When the block of `open_link` is left, nothing of the server remains with us.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from mcp_workbench.downstream.link import Link, OnNotification, OnQuestion
from mcp_workbench.downstream.transports.transport import Transport, TransportFailed, with_tail
from mcp_workbench.jsonrpc.errors import BadAnswer, NotDelivered, PeerGone, RemoteError


class LinkFailed(Exception):
    """The server could not be connected; `str()` is the reason a person reads."""

    def __init__(self, reason: str, *, may_need_legacy_first: bool = False, cause: Exception | None = None) -> None:
        super().__init__(reason)
        self.may_need_legacy_first = may_need_legacy_first
        """It failed after a first message that some older servers do not survive."""
        self.cause = cause
        """What kept the server from being reached, where that was not the server itself."""


@dataclass(frozen=True)
class LinkOptions:
    """How to connect one server."""

    declared: Mapping[str, Any]
    connect_timeout: float
    legacy_first: bool
    on_notification: OnNotification
    on_question: OnQuestion


@asynccontextmanager
async def open_link(
    reached: AbstractAsyncContextManager[Transport], options: LinkOptions, deadline: float
) -> AsyncGenerator[Link]:
    """Reach, greet and list a server; yield it connected; let go of it with the block.

    Raises:
        LinkFailed: It could not be connected before the deadline.
    """
    failure: LinkFailed | None = None
    try:
        async with reached as transport, anyio.create_task_group() as tasks:
            link = Link(transport, options.declared, options.on_notification, options.on_question)
            tasks.start_soon(link.watch)
            try:
                await _connect(link, transport, options, deadline)
            except LinkFailed as error:
                failure = error  # raised below: a task group would wrap it
            else:
                tasks.start_soon(link.follow_changes, options.connect_timeout)
                yield link
            finally:
                link.close("stopped by the workbench")
                tasks.cancel_scope.cancel()
    except TransportFailed as error:
        failure = LinkFailed(str(error), cause=error)
    if failure is not None:
        raise failure


async def _connect(link: Link, transport: Transport, options: LinkOptions, deadline: float) -> None:
    waiting_for = "initialize"
    with anyio.CancelScope(deadline=deadline) as scope:
        try:
            await link.greet(legacy_first=options.legacy_first)
            waiting_for = "tools/list"
            await link.read_tools()
        except PeerGone as gone:
            raise _ended(link, transport, str(gone), greeted=waiting_for == "tools/list") from None
        except NotDelivered as failure:
            raise LinkFailed(str(failure), cause=failure.cause) from None
        except (RemoteError, BadAnswer) as error:
            reason = with_tail(f"it refused {waiting_for}: {error}", transport.stderr_tail())
            may_help = transport.ends_at_unknown_methods and waiting_for == "initialize"
            raise LinkFailed(reason, may_need_legacy_first=may_help) from None
    if scope.cancelled_caught:
        reason = f"no answer to {waiting_for} within {options.connect_timeout:g} s"
        raise LinkFailed(with_tail(reason, transport.stderr_tail()))


def _ended(link: Link, transport: Transport, reason: str, *, greeted: bool) -> LinkFailed:
    """What to say of a server that was gone before it was connected."""
    if not transport.ends_at_unknown_methods:
        return LinkFailed(reason, cause=link.failure)
    return LinkFailed(_before_ready(reason), may_need_legacy_first=not greeted)


def _before_ready(cause: str) -> str:
    first, separator, rest = cause.partition("\n")
    head, colon, more = first.partition("; ")
    return f"{head} before it was ready{colon}{more}{separator}{rest}"
