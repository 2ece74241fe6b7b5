"""What the servers do and what they are used for, told to whoever keeps books on it.

`Activity` hears of every change of a server's state and of every call, and keeps nothing. `RecordedActivity`, which
serving uses, counts, writes the log file and describes this workbench for `mcp-workbench status`. Arguments and results
are written only where the config says so.
"""

import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from mcp.shared.exceptions import MCPError

from mcp_workbench import __version__
from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.errors import CallFailed, ConnectFailed, WorkbenchError
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.recorder import Recorder
from mcp_workbench.redaction import Redactor
from mcp_workbench.toolboxes.opening import InputNeeded

Outcome = Literal["ok", "tool error", "failed", "refused", "cancelled", "question"]

_ERRORS: frozenset[Outcome] = frozenset({"tool error", "failed"})
_LONGEST_NAME = 100


class Call:
    """A call under way; `result` is what came of it."""

    result: JSONObject | None = None


class Activity:
    """Hears what happens, and does nothing with it."""

    def configured(self, loaded: LoadedConfig) -> None:
        """These are the servers from now on."""

    def greeted(self, client: object) -> None:
        """A client said who it is."""

    def close(self) -> None:
        """It is over."""

    def became(self, toolbox: str, server: str, state: str, line: str) -> None:
        """A server changed its state; the line says how, for a person."""

    @contextmanager
    def call(self, toolbox: str, server: str, tool: str, arguments: Mapping[str, Any]) -> Generator[Call]:
        """A call lasts as long as the block."""
        yield Call()


@dataclass
class ServerActivity:
    """One server, as `status` shows it."""

    toolbox: str
    server: str
    state: str = "idle"
    since: float | None = None
    """When it came to this state, in seconds since 1970."""
    calls: int = 0
    errors: int = 0


class RecordedActivity(Activity):
    """Counts what happens, and has it written down until it is closed."""

    def __init__(self, redact: Redactor) -> None:
        self._began = time.time()
        self._files: list[str] = []
        self._logs_arguments = False
        self._client: JSONObject | None = None
        self._servers: dict[tuple[str, str], ServerActivity] = {}
        self._recorder = Recorder(self.describe, redact)

    def close(self) -> None:
        """Write the end down."""
        self._recorder.record("workbench ended", pid=os.getpid(), seconds=round(time.time() - self._began, 3))
        self._recorder.close()

    def describe(self) -> JSONObject:
        """What this workbench says of itself."""
        return {
            "version": __version__,
            "client": self._client,
            "config": self._files,
            "since": self._began,
            "servers": [asdict(server) for server in list(self._servers.values())],
        }

    def configured(self, loaded: LoadedConfig) -> None:
        """Describe the servers of this config, with what is known of those that stay."""
        event = "config changed" if self._files else "workbench started"
        self._files = [str(loaded.path)]
        self._logs_arguments = loaded.config.log_arguments
        names = [(toolbox, server) for toolbox, box in loaded.config.toolboxes.items() for server in box.servers]
        self._servers = {name: self._servers.get(name) or ServerActivity(*name) for name in names}
        self._recorder.record(event, pid=os.getpid(), version=__version__, config=", ".join(self._files))
        self._recorder.changed()

    def greeted(self, client: object) -> None:
        """Remember who the client is, as far as it says so in a reasonable length."""
        said = cast(JSONObject, client) if isinstance(client, dict) else JSONObject()
        known = {key: str(said[key])[:_LONGEST_NAME] for key in ("name", "version") if said.get(key)}
        if known != self._client:
            self._client = known
            self._recorder.record("client", pid=os.getpid(), **known)
            self._recorder.changed()

    def became(self, toolbox: str, server: str, state: str, line: str) -> None:
        """Describe the server so, and log it."""
        if known := self._servers.get((toolbox, server)):
            known.state, known.since = state, time.time()
        self._recorder.record("server", toolbox=toolbox, server=server, state=state, message=line)
        self._recorder.changed()

    @contextmanager
    def call(self, toolbox: str, server: str, tool: str, arguments: Mapping[str, Any]) -> Generator[Call]:
        """Log the call when it has ended: how long it took, whether it failed, and why."""
        began, call = time.perf_counter(), Call()
        outcome, reason = "failed", None
        try:
            yield call
            outcome = _outcome(call.result)
        except InputNeeded:
            outcome = "question"
            raise
        except (WorkbenchError, MCPError) as error:
            outcome, reason = _failure(error)
            raise
        except BaseException as error:
            outcome, reason = ("failed", type(error).__name__) if isinstance(error, Exception) else ("cancelled", None)
            raise
        finally:
            milliseconds = round((time.perf_counter() - began) * 1000, 1)
            self._count(toolbox, server, outcome)
            values = {"arguments": arguments, "result": call.result} if self._logs_arguments else {}
            self._recorder.record(
                "call", toolbox=toolbox, server=server, tool=tool, ms=milliseconds, outcome=outcome, reason=reason,
                **{key: _text(value) for key, value in values.items() if value is not None},
            )  # fmt: skip

    def _count(self, toolbox: str, server: str, outcome: Outcome) -> None:
        if known := self._servers.get((toolbox, server)):
            known.calls += 1
            known.errors += outcome in _ERRORS
            self._recorder.changed()


def _outcome(result: JSONObject | None) -> Outcome:
    if result is not None and result.get("resultType") == "input_required":
        return "question"
    return "tool error" if result is not None and result.get("isError") is True else "ok"


def _failure(error: WorkbenchError | MCPError) -> tuple[Outcome, str]:
    if isinstance(error, CallFailed | ConnectFailed):
        return "failed", error.reason
    return "failed" if isinstance(error, MCPError) else "refused", str(error)


def _text(value: object) -> str:
    """A value as it is logged; the recorder redacts it, and cuts it."""
    try:
        return codec.compact(value)
    except (ValueError, RecursionError):
        return "(cannot be written)"
