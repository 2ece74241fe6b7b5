"""How long a server that keeps failing is left alone: not at all at first, then longer and longer, up to a minute."""

import math

import anyio

_PAUSES = (0, 0, 1, 2, 4, 8, 16, 32, 60)
"""Seconds, by the number of failures. The first costs nothing: whoever mends the cause is served at once."""


def pause_after(failures: int) -> float:
    """Seconds before the next try."""
    return _PAUSES[min(failures, len(_PAUSES) - 1)]


class Backoff:
    """The failures of one server since it last worked."""

    def __init__(self) -> None:
        self._failures = 0
        self._reason = ""
        self._next_try = 0.0

    def worked(self) -> None:
        """Forget the failures: this is no server that keeps dying."""
        self._failures = 0

    def failed(self, reason: str) -> str:
        """Count a failure; what to tell people about the next try."""
        self._failures += 1
        self._reason = reason
        pause = pause_after(self._failures)
        self._next_try = anyio.current_time() + pause
        return f"the next use tries again, after {pause:g} s at the earliest" if pause else "the next use tries again"

    def refusal(self) -> str | None:
        """Why there is no try now; None when there may be one."""
        left = self._next_try - anyio.current_time()
        if left <= 0:
            return None
        times = f"it failed {self._failures} times in a row, and the next try is due in {math.ceil(left)} s"
        return f"{times}; the last time: {self._reason}"  # which comes last, since a server's own words may end it
