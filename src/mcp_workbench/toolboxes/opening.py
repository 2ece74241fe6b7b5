"""Opening a toolbox: all its servers at once, none of them longer than the others can wait, questions included.

Whoever opens gets the tools of the servers that are ready, and the reason of every other one. Servers ask for the
client's roots while they are connected, and some want a person to log in; a client that can only be asked by way of an
answer gets the questions first and opens again with its answers, while the servers go on connecting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from mcp_workbench.config.models import ToolboxConfig
from mcp_workbench.downstream.connection import Connection
from mcp_workbench.downstream.logins import LoginQuestions
from mcp_workbench.downstream.outside import OutsideQuestions
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import ConnectFailed
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject


class InputNeeded(Exception):
    """The client has to answer questions first; `result` holds them, and what it opens again with."""

    def __init__(self, result: JSONObject) -> None:
        super().__init__("questions to answer first")
        self.result = result


@dataclass(frozen=True)
class OpenedToolbox:
    """What came of opening a toolbox: the tools of the servers that connected, the reasons of those that did not."""

    name: str
    config: ToolboxConfig
    tools: Mapping[str, ToolList]
    errors: Mapping[str, ConnectFailed]
    instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    """What servers say about themselves."""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """What there is to know about a server's tools before they are used."""


class Opening:
    """One client's wait for the servers of a toolbox."""

    def __init__(
        self,
        toolbox: str,
        connections: Mapping[str, Connection],
        timeout: float,
        outside: OutsideQuestions,
        logins: LoginQuestions,
    ) -> None:
        self.outcomes: dict[str, ToolList | ConnectFailed] = {}
        """What each server came to, as far as it is known."""
        self._toolbox = toolbox
        self._connections = connections
        self._timeout = timeout
        self._outside = outside
        self._logins = logins
        self._changed = anyio.Event()

    async def run(self) -> None:
        """Wait until every server is ready or has failed, or until some are and the others had their time.

        Raises:
            InputNeeded: The client has to answer questions first.
        """
        async with anyio.create_task_group() as waiting:
            for server, connection in self._connections.items():
                waiting.start_soon(self._connect, server, connection)
            waiting.start_soon(self._notice_questions)
            with self._outside.carried_by_opening(self._toolbox):
                await self._until_enough()
            waiting.cancel_scope.cancel()
        if questions := {**self._outside.waiting_for(self._toolbox), **self._logins.round}:
            raise InputNeeded(_round(self._toolbox, questions))
        self._give_up_waiting()

    async def _connect(self, server: str, connection: Connection) -> None:
        try:
            self.outcomes[server] = await self._logins.open(connection)
        except ConnectFailed as failure:
            self.outcomes[server] = failure
        self._announce()

    async def _until_enough(self) -> None:
        with anyio.move_on_after(self._timeout):
            await self._until_over(some_will_do=False)
            return
        await self._until_over(some_will_do=True)

    async def _until_over(self, *, some_will_do: bool) -> None:
        while not self._is_over(some_will_do=some_will_do):
            await self._changed.wait()

    def _is_over(self, *, some_will_do: bool) -> bool:
        if self._outside.waiting_for(self._toolbox):
            return True
        if (
            some_will_do
            and not self._logins.under_way
            and any(isinstance(outcome, ToolList) for outcome in self.outcomes.values())
        ):
            return True
        return len(self.outcomes) == len(self._connections) and not self._outside.is_asking(self._toolbox)

    def _has_tools(self) -> bool:
        return any(isinstance(outcome, ToolList) for outcome in self.outcomes.values())

    def _give_up_waiting(self) -> None:
        reason = f"still starting after {self._timeout:g} s; open the toolbox again for its tools"
        for server in self._connections:
            self.outcomes.setdefault(server, ConnectFailed(self._toolbox, server, reason))

    async def _notice_questions(self) -> None:
        while True:
            await self._outside.changed()
            self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _round(toolbox: str, questions: Mapping[str, JSONObject]) -> JSONObject:
    state = codec.compact({"opening": toolbox})
    return {"resultType": "input_required", "inputRequests": dict(questions), "requestState": state}
