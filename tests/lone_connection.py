"""A connection without the manager that usually has it."""

import anyio.abc

from mcp_workbench.config.models import ServerConfig
from mcp_workbench.downstream.connection import Connection, Shared
from mcp_workbench.downstream.outside import OutsideQuestions
from mcp_workbench.downstream.questions import PATIENCE, Parking
from mcp_workbench.redaction import Redactor


def lone_connection(
    toolbox: str, server: str, entry: ServerConfig, tasks: anyio.abc.TaskGroup, *, patience: float = PATIENCE
) -> Connection:
    """A connection to one server, whose runs belong to these tasks; parked calls are given up after `patience`."""
    outside = OutsideQuestions(tasks)
    parking = Parking(tasks, outside, patience)
    shared = Shared(tasks, Redactor(()), parking, outside, lambda origin, method, params: None)
    return Connection(toolbox, server, entry, shared, lambda tools: tools.filtered(entry.admits))
