"""Small work on disk, done beside the event loop.

Pieces of work run one after another, in the order in which they came, in a thread that is only there while there is
some. What fails is noted in the log and harms nothing else. A disk that hangs stops nobody: the thread does not keep
the process from ending, and waiting for it is bounded.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

logger = logging.getLogger(__name__)

Work: TypeAlias = Callable[[], object]

_MOST_UNDONE = 10_000


class Background:
    """A queue of work, and the thread that does it."""

    def __init__(self) -> None:
        self._undone: deque[Work] = deque(maxlen=_MOST_UNDONE)
        self._changed = threading.Condition()
        self._busy = False

    def do(self, work: Work) -> None:
        """Have a piece of work done soon."""
        with self._changed:
            self._undone.append(work)
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._run, name="disk", daemon=True).start()

    def settle(self, patience: float) -> bool:
        """Wait until everything is done, but no longer than this; whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout=patience)

    def _run(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                logger.exception("an error of the workbench's own kept it from writing a file")

    def _next(self) -> Work | None:
        with self._changed:
            if self._undone:
                return self._undone.popleft()
            self._busy = False
            self._changed.notify_all()
            return None
