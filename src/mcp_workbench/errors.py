"""Every failure the workbench reports, as one flat tree.

`str(error)` is the sentence a user or a model reads: it begins as the contract says, and help may follow it.
"""

from collections.abc import Sequence


class WorkbenchError(Exception):
    """Base of every error the workbench raises on purpose."""


class ConfigError(WorkbenchError):
    """A config file that cannot be used, with everything that is wrong in it."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__(_report(source, self.problems))


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
        self.reason = reason
        super().__init__(f"Failed to connect to server '{server}' in toolbox '{toolbox}': {reason}")


class ToolboxFailed(WorkbenchError):
    """A toolbox none of whose servers could be connected."""


class CallFailed(WorkbenchError):
    """A call that its downstream server did not answer with a result."""

    def __init__(self, toolbox: str, server: str, tool: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"Error executing tool '{tool}' in server '{server}' (toolbox '{toolbox}'): {reason}")


def _report(source: str, problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return f"{source}: {problems[0]}"
    lines = "\n".join(f"  - {problem}" for problem in problems)
    return f"{source}: {len(problems)} problems\n{lines}"
