"""Every failure the workbench reports, as one flat tree.

`str(error)` is the sentence a user or a model reads: it begins as the contract says, and help may follow it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple


class WorkbenchError(Exception):
    """Base of every error the workbench raises on purpose."""


class PlacedProblem(NamedTuple):
    """Something wrong in a config, and where: a file, or a line and column of one."""

    place: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}"


class ConfigError(WorkbenchError):
    """A config that cannot be used, with everything that is wrong in it."""

    def __init__(self, source: str, problems: Sequence[PlacedProblem]) -> None:
        self.source = source
        self.placed = tuple(dict.fromkeys(problems))
        super().__init__(_report(source, self.placed))

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, without the places."""
        return tuple(problem.sentence for problem in self.placed)


class InvalidParameters(WorkbenchError):
    """Arguments of `open_toolbox` or `use_tool` that do not fit their schema."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"Invalid parameters: {problem}")


class InvalidToolIdentifier(WorkbenchError):
    """A `tool` argument that does not name a toolbox, a server and a tool."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"Invalid tool identifier: {problem}")


class UnknownToolbox(WorkbenchError):
    """A toolbox that the config does not have."""


class ToolboxNotOpen(WorkbenchError):
    """A toolbox that exists but that nobody has opened."""


class UnknownServer(WorkbenchError):
    """A server that the toolbox does not have."""


class UnknownTool(WorkbenchError):
    """A tool that the server does not have, or that the filter left out."""


class ConnectFailed(WorkbenchError):
    """A downstream server that could not be started or greeted."""

    def __init__(self, toolbox: str, server: str, reason: str) -> None:
        self.toolbox = toolbox
        self.server = server
        self.reason = reason
        super().__init__(f"Failed to connect to server '{server}' in toolbox '{toolbox}': {reason}")


class LoginRequired(ConnectFailed):
    """A remote server that a person must log in to first."""

    def __init__(
        self, toolbox: str, server: str, reason: str, begin: Callable[[], Awaitable[Any]] | None = None
    ) -> None:
        super().__init__(toolbox, server, reason)
        self.begin = begin
        """Begins that login, for whoever can show its page to the person."""


class ToolboxFailed(WorkbenchError):
    """A toolbox none of whose servers could be connected."""

    def __init__(self, failures: Sequence[ConnectFailed]) -> None:
        self.failures = tuple(failures)
        super().__init__("\n".join(str(failure) for failure in self.failures))


class ArgumentsDoNotFit(WorkbenchError):
    """Arguments that a tool's input schema does not admit, of a call that was not sent."""

    def __init__(self, toolbox: str, server: str, tool: str, problems: Sequence[str], schema: str) -> None:
        self.problems = tuple(problems)
        listed = "\n".join(f"- {problem}" for problem in self.problems)
        super().__init__(
            f"Invalid arguments for tool '{tool}' in server '{server}' (toolbox '{toolbox}'), so it was not called:\n"
            f"{listed}\nIts inputSchema: {schema}"
        )


class CallFailed(WorkbenchError):
    """A call that its downstream server did not answer with a result."""

    def __init__(self, toolbox: str, server: str, tool: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"Error executing tool '{tool}' in server '{server}' (toolbox '{toolbox}'): {reason}")


def _report(source: str, problems: Sequence[PlacedProblem]) -> str:
    if len(problems) == 1:
        return str(problems[0])
    return "\n".join([f"{source}: {len(problems)} problems", *(f"  {problem}" for problem in problems)])
