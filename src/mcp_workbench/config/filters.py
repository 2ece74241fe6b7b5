"""Which of a server's tools a `toolFilters` list admits.

`*` stands for any text and `?` for one character, as in a shell; everything else is itself. A pattern that begins with
`!` leaves out what it matches. Inclusions come first, all tools when there are none, and then the exclusions. An
absent list admits every tool, an empty one none.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

_Matches: TypeAlias = Callable[[str], bool]


class ToolFilters:
    """A compiled `toolFilters` list."""

    def __init__(self, patterns: Iterable[str] | None) -> None:
        written = None if patterns is None else tuple(patterns)
        self._patterns = {pattern: _matcher(pattern.removeprefix("!")) for pattern in written or ()}
        self._excluded = [matches for pattern, matches in self._patterns.items() if pattern.startswith("!")]
        self._included = [matches for pattern, matches in self._patterns.items() if not pattern.startswith("!")]
        self._admits_rest = written is None or (bool(written) and not self._included)

    @property
    def admits_all(self) -> bool:
        """Whether no tool of any name is left out."""
        return not self._excluded and (self._admits_rest or "*" in self._patterns)

    def admits(self, tool: str) -> bool:
        """Whether a tool of this name is offered."""
        included = self._admits_rest or any(matches(tool) for matches in self._included)
        return included and not any(matches(tool) for matches in self._excluded)

    def misses(self, tools: Iterable[str]) -> list[str]:
        """The patterns and names, as written, that fit none of a server's tools: probably spelt wrongly."""
        names = list(tools)
        return [
            pattern
            for pattern, matches in self._patterns.items()
            if pattern != "*" and not any(matches(name) for name in names)
        ]


@lru_cache(maxsize=1024)
def compiled(patterns: tuple[str, ...] | None) -> ToolFilters:
    """The filters of a list, compiled once however often they are asked for."""
    return ToolFilters(patterns)


def _matcher(pattern: str) -> _Matches:
    if "*" not in pattern and "?" not in pattern:
        return pattern.__eq__
    # A run of stars is one star: two would take exponentially long on a name that does not match.
    parts = re.split(r"(\*+|\?)", pattern)
    expression = "".join(_expression(part) for part in parts)
    return lambda name, fits=re.compile(expression, re.DOTALL).fullmatch: fits(name) is not None


def _expression(part: str) -> str:
    if part.startswith("*"):
        return ".*"
    return "." if part == "?" else re.escape(part)
