"""Which of a server's tools are offered: those that its filters, `readOnly` and trust let through.

An admission belongs to one server of one toolbox. It is asked with whatever the server has listed, as often as somebody
wants the tools, so that an acceptance or a new config counts from the next use on. For the same list and the same
circumstances it gives the same `ToolList` back, whose texts are then still written.
"""

import logging
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mcp_workbench.config.filters import ToolFilters
from mcp_workbench.config.models import ToolChangePolicy, WorkbenchConfig
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes.sightings import Sightings, Verdict

logger = logging.getLogger(__name__)

_MOST_NAMED = 10
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,80}")


@dataclass(frozen=True)
class Policy:
    """What the config says about the tools of one server."""

    filters: ToolFilters
    read_only: bool
    on_change: ToolChangePolicy

    @classmethod
    def of(cls, config: WorkbenchConfig, toolbox: str, server: str) -> "Policy":
        """The policy for a server of a config."""
        return cls(
            filters=config.toolboxes[toolbox].servers[server].filters,
            read_only=config.is_read_only(toolbox, server),
            on_change=config.tool_change_policy(toolbox, server),
        )

    def admits(self, tool: Mapping[str, Any]) -> bool:
        """Whether a tool is offered, if it is not hidden for being changed."""
        return self.filters.admits(str(tool["name"])) and (not self.read_only or declares_read_only(tool))


def declares_read_only(tool: Mapping[str, Any]) -> bool:
    """Whether a tool says of itself that it changes nothing; that is its server's word, and no more."""
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and cast(JSONObject, annotations).get("readOnlyHint") is True


class Admission:
    """The policy of one server, and what it came to with the tools that were listed last."""

    def __init__(
        self,
        toolbox: str,
        server: str,
        policy: Policy,
        sightings: Sightings,
        on_listed: Callable[[ToolList], None] = lambda tools: None,
    ) -> None:
        self.policy = policy
        self._toolbox = toolbox
        self._server = server
        self._sightings = sightings
        self._on_listed = on_listed
        self._verdict = Verdict()
        self._admitted: tuple[ToolList, Policy, frozenset[str], ToolList] | None = None
        self.listed: ToolList | None = None
        """What the server listed last, in this process."""

    def __call__(self, tools: ToolList) -> ToolList:
        """The tools that are offered, of what the server has listed."""
        if tools is not self.listed:
            self.listed = tools
            self._warn_of_misses(tools)
            self._on_listed(tools)
            self._verdict = self._sightings.judge(tools)
        elif self.policy.on_change == "block":  # what is hidden may have been accepted since
            self._verdict = self._sightings.judge(tools)
        return self._filtered(tools, self._verdict)

    def as_far_as_known(self, remembered: Callable[[], ToolList | None]) -> ToolList | None:
        """The tools that are offered, of what the server listed last, here or by what is remembered of it; or None."""
        tools = self.listed or remembered()
        if tools is None:
            return None
        blocks = self.policy.on_change == "block"
        return self._filtered(tools, self._sightings.look_up(tools) if blocks else Verdict())

    def notes(self) -> list[str]:
        """What a model should know before it uses the tools that were admitted last: a sentence, or none."""
        if self.listed is not None:
            self._verdict = self._sightings.judge(self.listed)
        changed, new = (self._within_filters(names) for names in (self._verdict.changed, self._verdict.new))
        if self.policy.on_change == "allow" or not (changed or new):
            return []
        return [_sentence(self._toolbox, self._server, changed, new, hidden=self.policy.on_change == "block")]

    @property
    def identity(self) -> str:
        """What starts the server, as the key of what is kept of it."""
        return self._sightings.identity

    @property
    def verdict(self) -> Verdict:
        """What of the tools that were listed last nobody has accepted, whether or not it is offered."""
        return self._verdict

    def _within_filters(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.policy.filters.admits(name)]

    def _filtered(self, tools: ToolList, verdict: Verdict) -> ToolList:
        policy = self.policy
        hidden = verdict.waiting if policy.on_change == "block" else frozenset[str]()
        made = self._admitted  # which another thread may replace meanwhile
        if made is None or made[:3] != (tools, policy, hidden):
            admitted = (tool for tool in tools.raw if tool["name"] not in hidden and policy.admits(tool))
            self._admitted = made = tools, policy, hidden, ToolList(admitted, source=tools)
        return made[3]

    def _warn_of_misses(self, tools: ToolList) -> None:
        if misses := self.policy.filters.misses(tools.names):
            logger.warning(
                "%s/%s: toolFilters that fit none of its tools: %s", self._toolbox, self._server, ", ".join(misses)
            )


def _sentence(toolbox: str, server: str, changed: Sequence[str], new: Sequence[str], *, hidden: bool) -> str:
    differing = [
        *([f"{_named(changed)} changed"] if changed else []),
        *([f"{_named(new)} {'is' if len(new) == 1 else 'are'} new"] if new else []),
    ]
    review = shlex.join(["mcp-workbench", "review", toolbox, server])
    effect = "They are hidden until the user accepts them" if hidden else "They work; the user should look at them"
    return f"Server '{server}' has tools that the user has not accepted: {'; '.join(differing)}. {effect}: `{review}`."


def _named(names: Sequence[str]) -> str:
    """The tools' names, as far as they are names: a server could put a sentence into one, which would pass for ours."""
    plain = [f"'{name}'" for name in names if _PLAIN_NAME.fullmatch(name)][:_MOST_NAMED]
    rest = len(names) - len(plain)
    if not plain:
        return f"{rest} tool{'' if rest == 1 else 's'}"
    return ", ".join(plain) + (f" and {rest} more" if rest else "")
