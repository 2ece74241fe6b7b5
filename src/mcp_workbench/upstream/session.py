"""One client: what it said of itself, and the ways to tell and to ask it something.

A session is made with the connection that a client speaks on. What a client of the older era says once, in its
greeting, is kept here; a modern client says it with every request, and it is read from each. Nothing that is passed on
to a client goes through a model: whatever a server sent, telling a client of it raises nothing, and what a client that
does not read has not been told yet is bounded by its size.
"""

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    LoggingLevel,
)

from mcp_workbench.downstream.caller import LOG_LEVELS, Caller, mirrored
from mcp_workbench.downstream.tool_call import with_origin
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.envelope import RequestId
from mcp_workbench.jsonrpc.errors import BadAnswer, PeerGone, RemoteError
from mcp_workbench.jsonrpc.peer import Peer
from mcp_workbench.toolboxes.listing import Form

logger = logging.getLogger(__name__)

HOP_PREFIX = "io.modelcontextprotocol/"
"""`_meta` keys under this prefix describe one connection, and end with it."""

_HOP_KEYS = frozenset({"progressToken"})
_MAX_UNSENT = 4 * 1024 * 1024
"""Bytes of notifications kept for a client that is slow to read; beyond it the oldest are dropped."""

_LONGEST_NAME = 200


class Output(Protocol):
    """Where the lines for a client go."""

    def write(self, data: bytes) -> None:
        """Send bytes, now or soon."""
        ...

    async def drain(self) -> None:
        """Wait while the client has fallen far behind in reading."""
        ...


@dataclass(frozen=True)
class ClientInfo:
    """What a client says of itself."""

    name: str = ""
    declared: JSONObject = field(default_factory=dict[str, Any])
    """Its capabilities among those that servers are told, exactly as it declared them."""
    log_level: LoggingLevel | None = None
    """The least severe log messages it wants to hear; None if it did not say."""

    @classmethod
    def greeting(cls, params: Mapping[str, Any]) -> "ClientInfo":
        """What a client of the older era says in `initialize`."""
        return cls(_name(params.get("clientInfo")), mirrored(params.get("capabilities")))

    @classmethod
    def of_request(cls, meta: Mapping[str, Any]) -> "ClientInfo":
        """What a modern client says in the `_meta` of a request."""
        return cls(
            _name(meta.get(CLIENT_INFO_META_KEY)),
            mirrored(meta.get(CLIENT_CAPABILITIES_META_KEY)),
            log_level(meta.get(LOG_LEVEL_META_KEY)),
        )


class ClientSession:
    """The conversation with one client."""

    def __init__(self, output: Output) -> None:
        self.greeted: ClientInfo | None = None
        """Who it is, if it greeted the older way; only such a client may be told and asked things at any time."""
        self._output = output
        self._peer = Peer(lambda message: output.write(codec.encode(message)), _Unheard())
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._more = anyio.Event()
        self._forms: dict[tuple[str, str], Form] = {}

    def greet(self, params: Mapping[str, Any]) -> ClientInfo:
        """Keep what a client of the older era says of itself."""
        self.greeted = ClientInfo.greeting(params)
        return self.greeted

    def set_log_level(self, level: LoggingLevel) -> None:
        """Keep which log messages it wants to hear."""
        self.greeted = replace(self.greeted or ClientInfo(), log_level=level)

    def info(self, params: Mapping[str, Any], *, modern: bool) -> ClientInfo:
        """Who the client is, as far as a request with these params can know."""
        return ClientInfo.of_request(meta_of(params)) if modern else self.greeted or ClientInfo()

    def caller(self, params: Mapping[str, Any], *, modern: bool) -> Caller:
        """The client's side of a request with these params."""
        info, meta = self.info(params, modern=modern), meta_of(params)
        answers = params.get("inputResponses")
        return Caller(
            declared=info.declared,
            meta={key: value for key, value in meta.items() if key not in _HOP_KEYS and not _is_hop_key(key)},
            progress_token=meta.get("progressToken"),
            log_level=info.log_level,
            tell=self.tell,
            ask=None if modern else self.ask,
            answers=cast("Mapping[str, JSONObject] | None", answers if isinstance(answers, dict) else None),
            state=params.get("requestState") if modern else None,
        )

    # What its model has been shown.

    def has_seen(self, toolbox: str, forms: Mapping[str, Form]) -> None:
        """Keep in which form the tools of a toolbox's servers were listed."""
        for server, form in forms.items():
            self._forms[toolbox, server] = form

    def saw_only_signatures(self, toolbox: str, server: str) -> bool:
        """Whether it was shown this server's tools without their schemas."""
        return self._forms.get((toolbox, server), Form.FULL) is not Form.FULL

    # Telling and asking.

    async def tell(self, method: str, params: JSONObject) -> None:
        """Send a notification that belongs to a request, once the client has caught up."""
        if (line := _notification(method, params)) is not None:
            await self._output.drain()
            self._output.write(line)

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Ask the client something; who no longer waits withdraws the question.

        Raises:
            MCPError: The client refuses, answers with something that is no answer, or has left.
        """
        await self._output.drain()
        try:
            return await self._peer.request(method, params)
        except RemoteError as refusal:
            code = refusal.code if isinstance(refusal.code, int) else INVALID_REQUEST
            raise MCPError(code, refusal.message, refusal.data) from None
        except BadAnswer:
            raise MCPError(INVALID_REQUEST, f"The client's answer is not a valid answer to {method}") from None
        except PeerGone as gone:
            raise MCPError(CONNECTION_CLOSED, str(gone)) from None

    def receive_answer(self, message: JSONObject) -> None:
        """Take the answer to something that it was asked."""
        self._peer.receive(message)

    def cannot_read_answer(self, request_id: RequestId, reason: str) -> None:
        """End a question whose answer came and cannot be read."""
        self._peer.fail(request_id, BadAnswer(reason))

    def close(self) -> None:
        """End every question: the client has left."""
        self._peer.close(PeerGone("The client has left"))

    # Notifications outside any request, for a client that was greeted the older way; a modern one may not be sent any.

    def notify(self, origin: str, method: str, params: JSONObject) -> None:
        """Pass on what a server tells of its own accord; `run` sends it."""
        if self.greeted is None:
            return
        if method == "notifications/message":
            if not self._wants_log(params.get("level")):
                return
            params = with_origin(params, origin)
        if (line := _notification(method, params)) is not None:
            self._keep(line)

    async def run(self) -> None:
        """Send the notifications that are kept, until cancelled."""
        while True:
            await self._more.wait()
            self._more = anyio.Event()
            while self._unsent:
                await self._output.drain()
                self._send_oldest()

    def _send_oldest(self) -> None:
        if self._unsent:  # the last one may have been too large to keep meanwhile
            line = self._unsent.popleft()
            self._unsent_bytes -= len(line)
            self._output.write(line)

    def _keep(self, line: bytes) -> None:
        self._unsent.append(line)
        self._unsent_bytes += len(line)
        while self._unsent_bytes > _MAX_UNSENT:
            self._unsent_bytes -= len(self._unsent.popleft())
        self._more.set()

    def _wants_log(self, level: object) -> bool:
        least = (self.greeted.log_level if self.greeted else None) or LOG_LEVELS[0]
        return level in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(least)


class _Unheard:
    """What a peer hands over apart from answers: nothing, since requests and notifications go to the SDK."""

    def on_request(self, request_id: RequestId, method: str, params: JSONObject) -> None:
        """Never called: only answers reach the peer."""

    def on_notification(self, method: str, params: JSONObject) -> None:
        """Never called: only answers reach the peer."""

    def on_unknown_response(self, message: JSONObject) -> None:
        """Note an answer to nothing that was asked."""
        logger.debug("dropped an answer of the client's to a question that was never asked")


def meta_of(params: Mapping[str, Any]) -> JSONObject:
    """A request's `_meta`; one that is no object is none."""
    meta = params.get("_meta")
    return cast(JSONObject, meta) if isinstance(meta, dict) else {}


def without_hop_keys(result: JSONObject) -> JSONObject:
    """A result without what its `_meta` says of the connection that it came on."""
    meta = meta_of(result)
    if not any(map(_is_hop_key, meta)):
        return result
    kept = {key: value for key, value in meta.items() if not _is_hop_key(key)}
    rest = {key: value for key, value in result.items() if key != "_meta"}
    return {**rest, "_meta": kept} if kept else rest


def log_level(value: object) -> LoggingLevel | None:
    """A log level, if it is one."""
    return next((level for level in LOG_LEVELS if level == value), None)


def _is_hop_key(key: str) -> bool:
    return key.startswith(HOP_PREFIX)


def _name(info: object) -> str:
    """The name that a client gives itself, in no more characters than are ever looked at."""
    name = cast(Mapping[str, Any], info).get("name") if isinstance(info, Mapping) else None
    return name[:_LONGEST_NAME] if isinstance(name, str) else ""


def _notification(method: str, params: JSONObject) -> bytes | None:
    """A notification as a line; None, with a note, should its content have no form as JSON."""
    try:
        return codec.encode({"jsonrpc": "2.0", "method": method, "params": params})
    except (ValueError, TypeError, RecursionError) as error:
        logger.warning("dropped a notification of a server's that cannot be written: %s", type(error).__name__)
        return None
