"""Restarting servers whose sources change, for people who develop them: the `dev` of an entry.

Nothing is watched, and nothing imported for it, unless an entry asks for it. What goes wrong here is told in the log,
and serving goes on.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import anyio

from mcp_workbench.config.models import ServerConfig, StdioServer, WorkbenchConfig
from mcp_workbench.toolboxes.manager import ClientManager

if TYPE_CHECKING:
    from watchfiles.main import FileChange

logger = logging.getLogger(__name__)

_QUIET = 200
"""Milliseconds without another change after which those that came are acted upon, all at once."""

_ENOUGH = 2000
"""Milliseconds after which they are acted upon even if more keep coming."""

_NOISE_FOLDERS = frozenset(
    {"__pycache__", ".git", ".hg", ".svn", ".venv", "node_modules", ".pytest_cache", ".ruff_cache"}
)
_NOISE_ENDINGS = (".pyc", ".pyo", "~", ".swp", ".swx", ".tmp")

Name: TypeAlias = tuple[str, str]
"""A server: its toolbox, and what it is called there."""


@dataclass(frozen=True)
class Pattern:
    """Some files below a directory. As in a shell, `**` stands for any number of directories."""

    root: Path
    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: str, base: Path) -> "Pattern":
        """A pattern as the config has it, relative to a directory; one that names a directory means all in it."""
        parts = Path(text).parts
        fixed = next((count for count, part in enumerate(parts) if _is_open(part)), len(parts))
        whole = base.joinpath(*parts).resolve() if fixed == len(parts) else None
        if whole is not None and whole.is_dir():
            return cls(whole, ("**",))
        fixed = min(fixed, len(parts) - 1)
        return cls(base.joinpath(*parts[:fixed]).resolve(), parts[fixed:])

    @property
    def recursive(self) -> bool:
        """Whether it may mean files in directories of its own."""
        return len(self.parts) > 1 or self.parts == ("**",)

    def means(self, path: Path) -> bool:
        """Whether this is one of its files; what programs write beside sources (caches, swap files) never is."""
        if not path.is_relative_to(self.root):
            return False
        parts = path.relative_to(self.root).parts
        return bool(parts) and not _is_noise(parts) and _fit(self.parts, parts)


def _is_noise(parts: tuple[str, ...]) -> bool:
    return not _NOISE_FOLDERS.isdisjoint(parts) or parts[-1].endswith(_NOISE_ENDINGS) or parts[-1].startswith(".#")


def _is_open(part: str) -> bool:
    return any(sign in part for sign in "*?[")


def _fit(patterns: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        return _fit(patterns[1:], names) or (bool(names) and _fit(patterns, names[1:]))
    return bool(names) and fnmatch(names[0], patterns[0]) and _fit(patterns[1:], names[1:])


async def follow_sources(manager: ClientManager) -> None:
    """Restart each server that has a `dev` whenever its sources change, by the config as it is at that moment."""
    while True:
        entries = _developed(manager.loaded.config)
        async with anyio.create_task_group() as tasks:
            if entries:
                tasks.start_soon(_watch, manager, entries)
            while _developed(manager.loaded.config) == entries:
                await manager.applied.wait()
            tasks.cancel_scope.cancel()


def _developed(config: WorkbenchConfig) -> dict[Name, ServerConfig]:
    return {
        (toolbox, server): entry
        for toolbox, box in config.toolboxes.items()
        for server, entry in box.servers.items()
        if entry.dev is not None
    }


async def _watch(manager: ClientManager, entries: Mapping[Name, ServerConfig]) -> None:
    """Watch the sources of these servers until cancelled, or until that turns out to be impossible."""
    if find_spec("watchfiles") is None:
        names = ", ".join("/".join(name) for name in entries)
        hint = "install watchfiles, as in: pip install 'mcp-workbench[dev]'"
        logger.warning("%s: not restarted when the sources change: %s", names, hint)
        return
    try:
        await _Sources(manager, entries).watch()
    except Exception as error:  # no directory can be watched, or no more of them
        logger.warning("servers are not restarted when their sources change: %s", _reason(error))


class _Sources:
    """The sources of some servers, and what is done when they change."""

    def __init__(self, manager: ClientManager, entries: Mapping[Name, ServerConfig]) -> None:
        self._manager = manager
        self._patterns = {name: patterns_of(entry) for name, entry in entries.items()}
        for name, patterns in self._patterns.items():
            if not all(pattern.root.parent.is_dir() for pattern in patterns):
                logger.warning("%s: dev.watch names files in a directory that does not exist", "/".join(name))

    async def watch(self) -> None:
        """Watch until cancelled; anew whenever a directory that was watched is made again, as a clean build does."""
        while self._directories(deep=True) or self._directories(deep=False):
            async with anyio.create_task_group() as tasks:
                for deep in (True, False):
                    tasks.start_soon(self._watch_directories, deep, tasks.cancel_scope)

    def _directories(self, *, deep: bool) -> set[Path]:
        """What to watch with everything below it, or (not `deep`) by itself."""
        patterns = [pattern for each in self._patterns.values() for pattern in each]
        wanted = {pattern.root for pattern in patterns if pattern.recursive == deep}
        if not deep:
            wanted |= {pattern.root.parent for pattern in patterns}
        return {directory for directory in wanted if directory.is_dir()}

    async def _watch_directories(self, deep: bool, both: anyio.CancelScope) -> None:
        from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] - it names trio, which is not there

        directories, stop = self._directories(deep=deep), anyio.Event()
        if not directories:
            return
        watching = awatch(
            *directories, watch_filter=None, debounce=_ENOUGH, step=_QUIET, stop_event=stop, recursive=deep
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_set_when_cancelled, stop)
            async for changes in watching:
                if self._restart_changed(changes) and not deep:
                    both.cancel()

    def _restart_changed(self, changes: Iterable["FileChange"]) -> bool:
        """Restart whose sources changed; whether a directory was made that is watched from now on."""
        from watchfiles import Change

        made = {Path(path) for change, path in changes if change is Change.added}
        paths = {Path(path) for _, path in changes}
        for name, patterns in self._patterns.items():
            if any(pattern.root in made or any(map(pattern.means, paths)) for pattern in patterns):
                self._restart(*name)
        return any(pattern.root in made for patterns in self._patterns.values() for pattern in patterns)

    def _restart(self, toolbox: str, server: str) -> None:
        if self._manager.restart(toolbox, server, "its sources changed"):
            logger.info("%s/%s: its sources changed; the next use starts it afresh", toolbox, server)


def patterns_of(entry: ServerConfig) -> list[Pattern]:
    """The files that are an entry's sources."""
    assert entry.dev is not None, "only entries with a `dev` are watched"
    own = entry.cwd if isinstance(entry, StdioServer) else None
    base = Path(entry.dev.cwd or own or ".").expanduser()
    return [Pattern.of(text, base) for text in entry.dev.watch]


async def _set_when_cancelled(event: anyio.Event) -> None:
    # Watching goes on in a thread that only looks at this event: cancelling alone would wait for it for seconds.
    try:
        await anyio.sleep_forever()
    finally:
        event.set()


def _reason(error: Exception) -> str:
    if isinstance(error, ExceptionGroup):
        return _reason(cast("ExceptionGroup[Exception]", error).exceptions[0])
    return str(error)
