"""What `check --connect` says about the tools of a server that works: filters, changes, texts that steer a model."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_workbench.config.models import ServerConfig
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.suggestions import closest
from mcp_workbench.toolboxes.poisoning import suspicions
from mcp_workbench.toolboxes.sightings import Verdict

_MOST_SHOWN = 10


@dataclass(frozen=True)
class ToolWarnings:
    """What is odd about the tools of one server."""

    offers_none: bool = False
    misses: Sequence[str] = ()
    """The `toolFilters` that fit none of its tools, as sentences; they fail the check."""
    verdict: Verdict = field(default_factory=Verdict)
    suspicious: Sequence[tuple[str, str]] = ()
    """Names of tools, each with what is suspicious about it."""

    def sentences(self, toolbox: str, server: str) -> list[str]:
        """All of it, for people."""
        found = ["it offers no tools, so nothing can be done with it through the workbench"] * self.offers_none
        found += self.misses
        for names, what in ((self.verdict.changed, "changed since they were accepted"), (self.verdict.new, "came new")):
            if names:
                found.append(f"tools that {what}: {_some(names)}; see `mcp-workbench review {toolbox} {server}`")
        found += [f"{name}: {doubt}" for name, doubt in self.suspicious[:_MOST_SHOWN]]
        if (rest := len(self.suspicious) - _MOST_SHOWN) > 0:
            found.append(f"and {rest} more texts like these")
        return found

    def as_json(self) -> dict[str, Any]:
        """The parts of it that there are, for programs."""
        parts: dict[str, Any] = {
            "filterMisses": list(self.misses),
            "changedTools": list(self.verdict.changed),
            "newTools": list(self.verdict.new),
            "suspicious": [{"tool": name, "because": doubt} for name, doubt in self.suspicious],
        }
        return {key: part for key, part in parts.items() if part}


def tool_warnings(entry: ServerConfig, offered: ToolList, verdict: Verdict, others: Collection[str]) -> ToolWarnings:
    """What is odd about a server's tools.

    Args:
        entry: The server's entry in the config.
        offered: All tools that it lists.
        verdict: What of them nobody has accepted.
        others: Distinctive names of tools that other servers have.
    """
    foreign = set(others) - set(offered.names)
    return ToolWarnings(
        offers_none=not len(offered),
        misses=[_miss(pattern, offered) for pattern in entry.filters.misses(offered.names)] if len(offered) else (),
        verdict=verdict,
        suspicious=[(str(tool["name"]), doubt) for tool in offered.raw for doubt in suspicions(tool, foreign)],
    )


def _miss(pattern: str, offered: ToolList) -> str:
    hint = "" if set("*?!") & set(pattern) else closest(pattern, offered.names, "tool")
    return f"toolFilters names '{pattern}', which it does not have{hint}"


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
