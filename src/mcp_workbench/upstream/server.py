"""The MCP server that clients see: an `MCPServer` with two tools whose results pass through it untouched.

The SDK validates and sieves what a tool function returns. A proxy must not, so both tools are answered in a middleware,
which may return a result as it is. The middleware seam is provisional in the SDK: this module is the only one that
touches it.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast
from weakref import WeakSet

import anyio
from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import CLIENT_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_workbench import __version__
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.config.models import WorkbenchConfig
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes.argument_check import check_arguments
from mcp_workbench.toolboxes.client_caps import limit_for
from mcp_workbench.toolboxes.listing import Form, contents_of, write_listing
from mcp_workbench.toolboxes.manager import ClientManager, ToolReference
from mcp_workbench.toolboxes.opening import InputNeeded
from mcp_workbench.toolboxes.selection import select
from mcp_workbench.upstream.attribution import asking_for, sentence, with_origin_in_questions
from mcp_workbench.upstream.development import follow_sources
from mcp_workbench.upstream.instructions import instructions
from mcp_workbench.upstream.parameters import parse_find_tools, parse_open_toolbox, parse_use_tool
from mcp_workbench.upstream.reloading import follow_config
from mcp_workbench.upstream.session import ClientSession, log_level, without_hop_keys
from mcp_workbench.upstream.tools import offered_tools

Context = ServerRequestContext[Any, ClientSession]


class Workbench:
    """What the client's requests lead to."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self._loaded = loaded
        self._manager: ClientManager | None = None
        self._sessions: WeakSet[ClientSession] = WeakSet()
        """The clients that were greeted the older way, and may be told things at any time."""

    def server(self) -> MCPServer[None]:
        """The server to run over a pair of streams."""
        return MCPServer[None](
            "mcp-workbench",
            title="MCP Workbench",
            version=__version__,
            lifespan=self._lifespan,
            subscriptions=False,
            middleware=[self._answer],
        )

    @asynccontextmanager
    async def _lifespan(self, _: MCPServer[None]) -> AsyncGenerator[None]:
        running = ClientManager.running(self._loaded, self._notify, recorded=True)
        async with running as manager, anyio.create_task_group() as tasks:
            self._manager = manager
            tasks.start_soon(follow_config, manager)
            tasks.start_soon(follow_sources, manager)
            yield
            tasks.cancel_scope.cancel()

    async def _answer(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer the two tools; let the SDK do the rest."""
        if ctx.method in ("initialize", "server/discover"):
            self._running.activity.greeted(_client_info(ctx))
        match ctx.method:
            case "notifications/roots/list_changed":
                self._running.tell(ctx.method, ctx.params or {})
                return await call_next(ctx)
            case _ if ctx.request_id is None:
                return await call_next(ctx)
            case "tools/call" if self._is_ours(ctx):
                return await self._call_tool(ctx)
            case "initialize":
                result = await call_next(ctx)
                self._greet(ctx)
                return self._introduced(result)
            case "server/discover":
                return self._introduced(await call_next(ctx))
            case "tools/list":
                return self._listed(await call_next(ctx))
            case "logging/setLevel":
                return {} if self._set_log_level(ctx) else await call_next(ctx)
            case _:
                return await call_next(ctx)

    # What the workbench says of itself: by the config as it is at that moment.

    def _introduced(self, result: HandlerResult) -> HandlerResult:
        """A greeting's answer with what the workbench can do. An `MCPServer` declares something else by itself."""
        if not isinstance(result, dict):
            return result
        about = instructions(self._config.toolboxes, searches=self._config.tool_search)
        return {**result, "capabilities": {"tools": {}, "logging": {}}, "instructions": about}

    def _listed(self, result: HandlerResult) -> HandlerResult:
        return {**result, "tools": offered_tools(self._config)} if isinstance(result, dict) else result

    @property
    def _config(self) -> WorkbenchConfig:
        return self._running.loaded.config

    # The tools.

    def _is_ours(self, ctx: Context) -> bool:
        greeted = _is_modern(ctx) or ctx.session.client_params is not None
        ours = ("open_toolbox", "use_tool", *(["find_tools"] if self._config.tool_search else []))
        return greeted and (ctx.params or {}).get("name") in ours

    async def _call_tool(self, ctx: Context) -> JSONObject:
        params = ctx.params or {}
        arguments: object = params.get("arguments")
        caller = _session(ctx).caller(params, modern=_is_modern(ctx))
        try:
            if params["name"] == "open_toolbox":
                result = await self._open_toolbox(ctx, arguments, caller)
            elif params["name"] == "find_tools":
                result = await self._find_tools(ctx, arguments)
            else:
                result = await self._use_tool(ctx, arguments, caller)
        except InputNeeded as questions:
            result = questions.result
        except WorkbenchError as error:
            result = {**_text(sentence(error)), "isError": True}
        return _result(ctx, result)

    async def _open_toolbox(self, ctx: Context, arguments: object, caller: Caller) -> JSONObject:
        config, session = self._config, _session(ctx)
        selection = select(parse_open_toolbox(arguments), config.toolboxes)
        contents = contents_of(await self._running.open(selection.toolbox, caller), selection)
        limit = self._listing_limit(ctx)
        if selection.tool is not None:
            return _text(write_listing(contents, Form.FULL, limit).text)
        listing = write_listing(contents, Form.of(config.listing_of(selection.toolbox)), limit)
        session.has_seen(selection.toolbox, listing.forms)
        return _text(listing.text)

    async def _find_tools(self, ctx: Context, arguments: object) -> JSONObject:
        findings = await self._running.find(parse_find_tools(arguments))
        return _text(findings.as_json(self._listing_limit(ctx)))

    def _listing_limit(self, ctx: Context) -> int:
        client = _session(ctx).info(ctx.params or {}, modern=_is_modern(ctx))
        return self._config.listing_limit or limit_for(client.name)

    async def _use_tool(self, ctx: Context, arguments: object, caller: Caller) -> JSONObject:
        reference, own = parse_use_tool(arguments)
        self._check(_session(ctx), reference, own)
        origin = f"{reference.toolbox}/{reference.server}"
        caller = replace(caller, ask=asking_for(caller.ask, origin))
        return with_origin_in_questions(await self._running.call(reference, own, caller), origin)

    def _check(self, session: ClientSession, reference: ToolReference, arguments: JSONObject) -> None:
        """Refuse arguments that do not fit a schema that the model has not seen; others are the server's to judge."""
        toolbox, server, config = reference.toolbox, reference.server, self._config
        listed_compactly = toolbox in config.toolboxes and config.listing_of(toolbox) == "compact"
        if not listed_compactly and not session.saw_only_signatures(toolbox, server):
            return
        if (tools := self._running.known_tools(reference)) is not None:
            check_arguments(toolbox, server, tools, reference.tool, arguments)

    @property
    def _running(self) -> ClientManager:
        assert self._manager is not None, "the lifespan begins before the first request"
        return self._manager

    # The clients.

    def _greet(self, ctx: Context) -> None:
        session = _session(ctx)
        info = session.greet(ctx.params or {})
        self._sessions.add(session)
        self._running.be_asked_through(session.ask if "roots" in info.declared else None)

    def _set_log_level(self, ctx: Context) -> bool:
        level = log_level((ctx.params or {}).get("level"))
        if level is None or _is_modern(ctx) or ctx.session.client_params is None:
            return False
        _session(ctx).set_log_level(level)
        self._running.set_log_level(level)
        return True

    def _notify(self, origin: str, method: str, params: JSONObject) -> None:
        for session in self._sessions:
            session.notify(origin, method, params)


def _session(ctx: Context) -> ClientSession:
    """The client that a message came from, as the streams that carried it say."""
    assert ctx.request is not None, "every message comes with its session"
    return ctx.request


def _client_info(ctx: Context) -> object:
    params = ctx.params or {}
    meta = cast(JSONObject, given) if isinstance(given := params.get("_meta"), dict) else JSONObject()
    return params.get("clientInfo") or meta.get(CLIENT_INFO_META_KEY)


def _is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _result(ctx: Context, result: JSONObject) -> JSONObject:
    """A result as the client's era has it: only a modern one says of itself what it is."""
    result = without_hop_keys(result)
    if _is_modern(ctx):
        return result if "resultType" in result else {**result, "resultType": "complete"}
    return {key: value for key, value in result.items() if key != "resultType"} if "resultType" in result else result


def _text(text: str) -> JSONObject:
    return {"content": [{"type": "text", "text": text}]}
