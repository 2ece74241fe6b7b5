"""The MCP server that clients see: an `MCPServer` with two tools whose results pass through it untouched.

The SDK validates and sieves what a tool function returns. A proxy must not, so both tools are answered in a middleware,
which may return a result as it is. The middleware seam is provisional in the SDK: this module is the only one that
touches it.
"""

import logging
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.tools import Tool
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import INVALID_REQUEST, LOG_LEVEL_META_KEY, LoggingLevel, Notification, Request, ToolAnnotations
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import RootModel, ValidationError

from mcp_workbench import __version__
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.downstream.caller import LOG_LEVELS, Caller, mirrored
from mcp_workbench.downstream.tool_call import with_origin
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes.manager import ClientManager
from mcp_workbench.toolboxes.opening import InputNeeded
from mcp_workbench.upstream.instructions import USE, instructions, open_toolbox_description
from mcp_workbench.upstream.parameters import OPEN_TOOLBOX_SCHEMA, USE_TOOL_SCHEMA, parse_open_toolbox, parse_use_tool

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]

_HOP_PREFIX = "io.modelcontextprotocol/"
"""`_meta` keys under this prefix describe the connection between client and workbench, and end here."""

_HOP_KEYS = frozenset({"progressToken"})
_MAX_UNSENT = 1000


class _AnyRequest(Request[JSONObject, str]):
    """A request to the client, whatever its method."""

    method: str
    params: JSONObject


class _AnyNotification(Notification[JSONObject, str]):
    """A notification to the client, whatever its method."""

    method: str
    params: JSONObject


class Workbench:
    """What the client's requests lead to."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self._loaded = loaded
        self._manager: ClientManager | None = None
        self._client_declared: JSONObject = {}
        self._client_log_level: LoggingLevel | None = None
        self._client_session: ServerSession | None = None
        self._news: deque[_AnyNotification] = deque(maxlen=_MAX_UNSENT)
        self._more_news = anyio.Event()

    def server(self) -> MCPServer[None]:
        """The server to run over a pair of streams."""
        toolboxes = self._loaded.config.toolboxes
        return MCPServer[None](
            "mcp-workbench",
            title="MCP Workbench",
            version=__version__,
            instructions=instructions(toolboxes),
            tools=[_open_toolbox(open_toolbox_description(toolboxes)), _use_tool()],
            lifespan=self._lifespan,
            subscriptions=False,
            middleware=[self._answer],
        )

    @asynccontextmanager
    async def _lifespan(self, _: MCPServer[None]) -> AsyncGenerator[None]:
        async with ClientManager.running(self._loaded, self._hear) as manager, anyio.create_task_group() as tasks:
            self._manager = manager
            tasks.start_soon(self._pass_news_on)
            yield
            tasks.cancel_scope.cancel()

    async def _answer(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer the two tools; let the SDK do the rest."""
        match ctx.method:
            case "notifications/roots/list_changed":
                self._running.tell(ctx.method, ctx.params or {})
                return await call_next(ctx)
            case _ if ctx.request_id is None:
                return await call_next(ctx)
            case "tools/call" if self._is_ours(ctx):
                return await self._call_tool(ctx)
            case "initialize":
                return self._greeted(ctx, await call_next(ctx))
            case "server/discover":
                return _with_own_capabilities(await call_next(ctx))
            case "logging/setLevel":
                return {} if self._set_log_level(ctx) else await call_next(ctx)
            case _:
                return await call_next(ctx)

    # The two tools.

    @staticmethod
    def _is_ours(ctx: Context) -> bool:
        greeted = _is_modern(ctx) or ctx.session.client_params is not None
        return greeted and (ctx.params or {}).get("name") in ("open_toolbox", "use_tool")

    async def _call_tool(self, ctx: Context) -> JSONObject:
        params = ctx.params or {}
        arguments: object = params.get("arguments")
        try:
            if params["name"] == "open_toolbox":
                opened = await self._running.open(parse_open_toolbox(arguments), self._caller(ctx))
                result = _text(opened.as_json())
            else:
                reference, own = parse_use_tool(arguments)
                result = await self._running.call(reference, own, self._caller(ctx))
        except InputNeeded as questions:
            result = questions.result
        except WorkbenchError as error:
            result = {**_text(str(error)), "isError": True}
        return {**result, "resultType": "complete"} if _is_modern(ctx) and "resultType" not in result else result

    @property
    def _running(self) -> ClientManager:
        assert self._manager is not None, "the lifespan begins before the first request"
        return self._manager

    # The client.

    def _caller(self, ctx: Context) -> Caller:
        params = ctx.params or {}
        meta = cast(JSONObject, given) if isinstance(given := params.get("_meta"), dict) else JSONObject()
        modern = _is_modern(ctx)
        answers = params.get("inputResponses")
        return Caller(
            declared=mirrored(meta.get(f"{_HOP_PREFIX}clientCapabilities")) if modern else self._client_declared,
            meta={
                key: value for key, value in meta.items() if key not in _HOP_KEYS and not key.startswith(_HOP_PREFIX)
            },
            progress_token=meta.get("progressToken"),
            log_level=_log_level(meta.get(LOG_LEVEL_META_KEY)) if modern else self._client_log_level,
            tell=_teller(ctx),
            ask=None if modern else _asker(ctx.session, ctx.request_id),
            answers=cast("Mapping[str, JSONObject] | None", answers if isinstance(answers, dict) else None),
            state=params.get("requestState") if modern else None,
        )

    def _greeted(self, ctx: Context, result: HandlerResult) -> HandlerResult:
        self._client_declared = mirrored((ctx.params or {}).get("capabilities"))
        self._client_session = ctx.session
        self._running.be_asked_through(_asker(ctx.session) if "roots" in self._client_declared else None)
        return _with_own_capabilities(result)

    # News of servers outside any call, for a client that was greeted the older way; a modern one may not be sent any.

    def _set_log_level(self, ctx: Context) -> bool:
        level = _log_level((ctx.params or {}).get("level"))
        if level is None or _is_modern(ctx) or ctx.session.client_params is None:
            return False
        self._client_log_level = level
        self._running.set_log_level(level)
        return True

    def _hear(self, origin: str, method: str, params: JSONObject) -> None:
        if self._client_session is None:
            return
        if method == "notifications/message":
            if not self._wants_log(params.get("level")):
                return
            params = with_origin(params, origin)
        self._news.append(_AnyNotification(method=method, params=params))
        self._more_news.set()

    def _wants_log(self, level: object) -> bool:
        least = self._client_log_level or LOG_LEVELS[0]
        return level in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(least)

    async def _pass_news_on(self) -> None:
        while True:
            await self._more_news.wait()
            self._more_news = anyio.Event()
            while self._news and self._client_session is not None:
                await self._client_session.send_notification(cast(Any, self._news.popleft()))


def _is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _log_level(value: object) -> LoggingLevel | None:
    return next((level for level in LOG_LEVELS if level == value), None)


def _text(text: str) -> JSONObject:
    return {"content": [{"type": "text", "text": text}]}


def _with_own_capabilities(result: HandlerResult) -> HandlerResult:
    """A greeting's answer with what the workbench can do: tools only. An `MCPServer` declares more by itself."""
    return {**result, "capabilities": {"tools": {}}} if isinstance(result, dict) else result


def _teller(ctx: Context) -> Any:
    async def tell(method: str, params: JSONObject) -> None:
        notification = _AnyNotification(method=method, params=params)
        await ctx.session.send_notification(cast(Any, notification), related_request_id=ctx.request_id)

    return tell


def _asker(session: ServerSession, request_id: str | int | None = None) -> Any:
    async def ask(method: str, params: JSONObject) -> JSONObject:
        request = _AnyRequest(method=method, params=params)
        metadata = ServerMessageMetadata(related_request_id=request_id)
        try:
            answer = await session.send_request(cast(Any, request), RootModel[JSONObject], metadata=metadata)
        except ValidationError:
            raise MCPError(INVALID_REQUEST, f"The client's answer is not a valid answer to {method}") from None
        return answer.root

    return ask


def _open_toolbox(description: str) -> Tool:
    return _tool(
        "open_toolbox",
        description,
        OPEN_TOOLBOX_SCHEMA,
        ToolAnnotations(title="Open a toolbox", read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    )


def _use_tool() -> Tool:
    return _tool("use_tool", USE, USE_TOOL_SCHEMA, ToolAnnotations(title="Use a tool of an open toolbox"))


def _tool(name: str, description: str, schema: JSONObject, annotations: ToolAnnotations) -> Tool:
    """A tool for `tools/list`; its calls are answered before they would reach its function."""

    async def answered_in_middleware() -> None:
        raise NotImplementedError

    tool = Tool.from_function(
        answered_in_middleware, name=name, description=description, annotations=annotations, structured_output=False
    )
    return tool.model_copy(update={"parameters": schema})
