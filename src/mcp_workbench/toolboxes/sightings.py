"""What a running workbench sees of one server's tools, judged by the record of what was accepted.

Judging reads a small file, and only when it was replaced since; whatever is to be written is written in the background.
Until that is done, and where nothing can be written at all, what was seen first is remembered here.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.toolboxes.background import Background
from mcp_workbench.toolboxes.trust import Pins, Record, first_sight, pins
from mcp_workbench.toolboxes.trust_records import TrustRecords

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Verdict:
    """What of a server's tools nobody has accepted, by their names in the server's order."""

    changed: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    @property
    def waiting(self) -> frozenset[str]:
        """Both kinds."""
        return frozenset((*self.changed, *self.new))


class Sightings:
    """One server at one place of a config."""

    def __init__(
        self,
        identity: Callable[[], str],
        place: str,
        *,
        records: TrustRecords,
        background: Background,
        redact: Callable[[str], str],
    ) -> None:
        self._name_server = identity
        self._place = place
        self._records = records
        self._background = background
        self._redact = redact
        self._first: Record | None = None
        self._seen: tuple[ToolList, Pins] | None = None
        self._asked: Record | None = None
        self._judged: tuple[Record, Pins, Verdict] | None = None
        self._placed = False

    @cached_property
    def identity(self) -> str:
        """What starts the server, as the key of what is kept of it."""
        return self._name_server()

    def judge(self, tools: ToolList) -> Verdict:
        """What differs of the tools that the server has listed. They count as seen from now on."""
        seen = self._pins(tools)
        if not seen:
            return Verdict()
        record = self._records.read(self.identity) or self._first
        if record is None:
            record = self._first = self._begin(seen)
        judged = self._judged
        if judged is None or judged[0] is not record or judged[1] is not seen:
            self._note(record, seen)
            self._judged = judged = record, seen, _verdict(record, seen)
        return judged[2]

    def look_up(self, tools: ToolList) -> Verdict:
        """What differs of tools that were listed some time ago; nothing counts as seen."""
        record = self._records.read(self.identity) or self._first or self._records.inherited(self._place)
        return Verdict() if record is None else _verdict(record, self._pins(tools))

    def _pins(self, tools: ToolList) -> Pins:
        seen = self._seen  # which another thread may replace meanwhile
        if seen is None or seen[0] is not tools:
            self._seen = seen = tools, pins(tools.raw, self._redact)
        return seen[1]

    def _begin(self, seen: Pins) -> Record:
        inherited = self._records.inherited(self._place)
        return first_sight(seen) if inherited is None else Record(inherited.accepted)

    def _note(self, record: Record, seen: Pins) -> None:
        """Have the record written where it does not say this yet; once, in case it cannot be."""
        after = record.having_seen(seen)
        if after == record and record is not self._first:
            self._asked = None
        elif after != self._asked:
            self._asked = after
            self._background.do(lambda: self._write(record, seen))
        if not self._placed:
            self._placed = True
            self._background.do(self._take_place)

    def _write(self, first: Record, seen: Pins) -> None:
        try:
            self._records.change(self.identity, lambda found: (found or first).having_seen(seen))
        except (OSError, WorkbenchError) as error:
            logger.warning("what was seen of a server's tools could not be recorded: %s", error)

    def _take_place(self) -> None:
        try:
            self._records.settle_at(self._place, self.identity)
        except (OSError, WorkbenchError) as error:
            logger.warning("where a server was seen could not be recorded: %s", error)


def _verdict(record: Record, seen: Pins) -> Verdict:
    differing = record.differing(seen)
    return Verdict(
        changed=tuple(name for name in differing if not record.is_new(name)),
        new=tuple(name for name in differing if record.is_new(name)),
    )
