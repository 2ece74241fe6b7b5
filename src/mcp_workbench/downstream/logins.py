"""Logins that come up while a toolbox is opened, for a client that can show its person a page (URL elicitation).

A client of the older era is asked live. One of the newer era gets the question as an answer and opens again; the login
itself needs neither, since whoever comes back from the page ends it. Either way the server is connected once the login
is done, and a person who does not want to log in is not asked again by the same opening.
"""

import uuid
from dataclasses import dataclass
from typing import Any, cast

import anyio
from mcp.shared.exceptions import MCPError

from mcp_workbench.downstream.caller import Ask, Caller, missing_capability
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.downstream.transports.authorization import PendingLogin
from mcp_workbench.downstream.transports.transport import TransportFailed
from mcp_workbench.errors import ConnectFailed, LoginRequired
from mcp_workbench.jsonrpc.codec import JSONObject

PATIENCE = 240.0
"""Seconds that an opening waits for a person who said that they will log in. Afterwards the login still counts."""

_METHOD = "elicitation/create"
_KEY = "login/"


@dataclass
class _Shown:
    """A login whose page the client was given."""

    pending: PendingLogin
    accepted: bool | None = None


class Logins:
    """The logins that clients were asked for, of all servers."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], _Shown] = {}

    def answered(self, toolbox: str, answers: object) -> None:
        """Take a client's answers to the questions of `LoginQuestions`."""
        given = cast(JSONObject, answers) if isinstance(answers, dict) else {}
        for (box, server), shown in self._shown.items():
            if box == toolbox and (answer := given.get(_KEY + server)) is not None:
                shown.accepted = _is_yes(answer)

    def take(self, connection: Connection) -> _Shown | None:
        """What was shown for a server and answered; one opening uses it."""
        key = (connection.toolbox, connection.server)
        shown = self._shown.get(key)
        return self._shown.pop(key) if shown is not None and shown.accepted is not None else None

    def show(self, connection: Connection, pending: PendingLogin) -> None:
        """Remember what the client was given."""
        self._shown[connection.toolbox, connection.server] = _Shown(pending)


class LoginQuestions:
    """The logins that one opening needs."""

    def __init__(self, logins: Logins, caller: Caller) -> None:
        self.round: dict[str, JSONObject] = {}
        """What a client of the newer era is to be asked before it opens again, by key."""
        self.under_way = 0
        """Logins that this opening waits for."""
        self._logins = logins
        self._caller = caller
        self._can_ask = missing_capability(caller.declared, _METHOD, {"mode": "url"}) is None

    async def open(self, connection: Connection) -> ToolList:
        """Connect a server, after a login where it wants one and the client can be asked.

        Raises:
            ConnectFailed: It cannot be connected.
        """
        shown = self._logins.take(connection)
        try:
            return await connection.open(self._caller)
        except LoginRequired as needed:
            if not self._can_ask or needed.begin is None or (shown is not None and not shown.accepted):
                raise
            pending = shown.pending if shown is not None else await _begun(connection, needed)
            if shown is None and not await self._ask(connection, pending):
                raise
        return await self._open_after(connection, pending)

    async def _ask(self, connection: Connection, pending: PendingLogin) -> bool:
        """Whether the person will log in now; a client of the newer era says so when it opens again."""
        question = _question(connection, pending)
        if self._caller.ask is None:
            self._logins.show(connection, pending)
            self.round[_KEY + connection.server] = {"method": _METHOD, "params": question}
            return False
        self.under_way += 1
        try:
            return await _asked(self._caller.ask, question)
        finally:
            self.under_way -= 1

    async def _open_after(self, connection: Connection, pending: PendingLogin) -> ToolList:
        self.under_way += 1
        try:
            with anyio.move_on_after(PATIENCE) as waiting:
                await pending.wait()
            if waiting.cancelled_caught:
                raise _failed(connection, "the login page is still open: open the toolbox again after the login")
            return await connection.open(self._caller)
        except TransportFailed as failure:
            raise _failed(connection, f"the login failed: {failure}") from None
        finally:
            self.under_way -= 1


async def _begun(connection: Connection, needed: LoginRequired) -> PendingLogin:
    assert needed.begin is not None
    try:
        return cast(PendingLogin, await needed.begin())
    except TransportFailed as failure:
        raise _failed(connection, f"login needed, and none can be made: {failure}") from None


async def _asked(ask: Ask, question: JSONObject) -> bool:
    try:
        return _is_yes(await ask(_METHOD, {**question, "elicitationId": uuid.uuid4().hex}))
    except MCPError:
        return False


def _question(connection: Connection, pending: PendingLogin) -> JSONObject:
    return {
        "mode": "url",
        "message": f"Server '{connection.server}' (toolbox '{connection.toolbox}') needs you to log in. The page that "
        "opens is its own; afterwards the toolbox goes on opening.",
        "url": pending.url,
    }


def _is_yes(answer: Any) -> bool:
    return isinstance(answer, dict) and cast(JSONObject, answer).get("action") == "accept"


def _failed(connection: Connection, reason: str) -> ConnectFailed:
    return ConnectFailed(connection.toolbox, connection.server, reason)
