"""Server-sent events: bytes as they come to events, within a bound.

What an event stream says besides its events (the id to resume after, how long to wait before that) is kept by the
parser, since it outlives the event that brought it.
"""

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


class EventTooLarge(Exception):
    """An event passed the bound without ending."""


@dataclass(frozen=True)
class Event:
    """One event: what kind it is, and what it holds."""

    kind: str
    data: bytes


class EventParser:
    """Takes the bytes of one stream, in pieces of any size, and gives the events that they complete."""

    def __init__(self, max_size: int) -> None:
        self.last_id: str | None = None
        """What to send as `Last-Event-ID` to get what comes after the last complete event."""
        self.retry: float | None = None
        """Seconds to wait before resuming, where the server said."""
        self._max_size = max_size
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._kind = ""
        self._id: str | None = None
        self._size = 0
        self._after_return = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end in this piece.

        Raises:
            EventTooLarge: An event exceeds the bound.
        """
        if not chunk:
            return []
        chunk = self._with_plain_line_ends(chunk)
        first, *rest = chunk.split(b"\n")
        self._keep(first)
        events: list[Event] = []
        for part in rest:
            line, self._line = b"".join(self._line), []
            if (event := self._take(line)) is not None:
                events.append(event)
            self._keep(part)
        return events

    def _with_plain_line_ends(self, chunk: bytes) -> bytes:
        if self._at_start:
            self._at_start = False
            chunk = chunk.removeprefix(_BOM)
        if self._after_return:
            chunk = chunk.removeprefix(b"\n")
        self._after_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in chunk else chunk

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._max_size:
            raise EventTooLarge
        if part:
            self._line.append(part)

    def _take(self, line: bytes) -> Event | None:
        if not line:
            return self._end_of_event()
        if line.startswith(b":"):
            self._size -= len(line)
            return None
        name, _, value = line.partition(b":")
        self._field(name, value.removeprefix(b" "))
        return None

    def _field(self, name: bytes, value: bytes) -> None:
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._kind = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode(errors="replace")
            case b"retry" if value.isdigit() and len(value) < 9:  # more would be days
                self.retry = int(value) / 1000
            case _:
                pass

    def _end_of_event(self) -> Event | None:
        data, kind = self._data, self._kind
        self._data, self._kind, self._size = [], "", 0
        if self._id is not None:
            self.last_id = self._id or None
        return Event(kind or "message", b"\n".join(data)) if data else None
