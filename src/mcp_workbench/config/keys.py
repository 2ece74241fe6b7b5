"""Which parts of a config are used, and what to say about those that are not.

Comments, disabled servers and keys that other clients have added are taken out before anything else looks at the
document, so that nothing unused can stop the workbench. A key that is nearly one of ours is a mistake instead: a
filter that is silently ignored exposes tools.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from mcp_workbench.config.document import Json, JsonPath, Problem, show_key
from mcp_workbench.config.models import (
    DevelopmentMode,
    OAuth,
    RemoteServer,
    StdioServer,
    ToolboxConfig,
    WorkbenchConfig,
)
from mcp_workbench.config.servers import URL_KEYS

# Written by other clients, close to a key of ours, and not meant as it.
_FOREIGN_KEYS = frozenset({"alwaysAllow", "autoApprove", "description", "name", "timeout", "transportType"})
_OUTSIDE = 'servers stand in a toolbox: {"toolboxes": {"main": {"description": "…", "mcpServers": {…}}}}'
_TWO_KINDS = "has a 'command' and a '{}'; keep the one for a program to start, or the other for a server elsewhere"
_SHORTEST_PART = 6
_STDIO_KEYS = StdioServer.known_keys()
_REMOTE_KEYS = RemoteServer.known_keys()
_TOOLBOX_KEYS = ToolboxConfig.known_keys()
_TOP_KEYS = WorkbenchConfig.known_keys()

_Select: TypeAlias = Callable[[dict[str, Json], JsonPath], dict[str, Json] | None]


@dataclass
class Selection:
    """The used part of a document, and what was found on the way.

    `in_source` translates a path of the document into one that messages may show.
    """

    in_source: Callable[[JsonPath], JsonPath] = lambda path: path
    problems: list[Problem] = field(default_factory=list[Problem])
    notes: list[Problem] = field(default_factory=list[Problem])
    disabled: list[JsonPath] = field(default_factory=list[JsonPath])

    def used(self, document: dict[str, Json]) -> dict[str, Json]:
        """Take a config apart and put together what the workbench uses of it."""
        return self._entries(self._known(document, (), _TOP_KEYS), "toolboxes", (), self._toolbox)

    def _toolbox(self, toolbox: dict[str, Json], path: JsonPath) -> dict[str, Json]:
        return self._entries(self._known(toolbox, path, _TOOLBOX_KEYS), "mcpServers", path, self._server)

    def _server(self, server: dict[str, Json], path: JsonPath) -> dict[str, Json] | None:
        if server.get("disabled") is True:
            self.disabled.append(path)
            return None
        address = next((key for key in URL_KEYS if key in server), None)
        if address is not None and "command" in server:
            self._fail(path, _TWO_KINDS.format(address))
            return None
        own, other = (_STDIO_KEYS, _REMOTE_KEYS) if address is None else (_REMOTE_KEYS, _STDIO_KEYS)
        used = self._known(server, path, own, other - own)
        used = self._inner(used, path, "dev", DevelopmentMode.known_keys())
        return self._inner(used, path, "oauth", OAuth.known_keys())

    def _inner(self, server: dict[str, Json], path: JsonPath, key: str, known: frozenset[str]) -> dict[str, Json]:
        """The entry with the known keys of the object under `key`, where nobody but us has keys."""
        inner = server.get(key)
        if not isinstance(inner, dict):
            return server
        notes = len(self.notes)
        used = self._known(inner, (*path, key), known)
        self.problems += [Problem(note.path, note.sentence.removeprefix("ignored ")) for note in self.notes[notes:]]
        del self.notes[notes:]
        return {**server, key: used}

    def _entries(self, parent: dict[str, Json], key: str, path: JsonPath, select: _Select) -> dict[str, Json]:
        """`parent` with the used entries of the map under `key`; what has the wrong type is left to the models."""
        entries = parent.get(key)
        if not isinstance(entries, dict):
            return parent
        used: dict[str, Json] = {}
        for name, entry in entries.items():
            if _is_comment(name):
                continue
            selected = select(entry, (*path, key, name)) if isinstance(entry, dict) else entry
            if selected is not None or entry is None:
                used[name] = selected
        return {**parent, key: used}

    def _known(
        self, value: dict[str, Json], path: JsonPath, known: frozenset[str], of_others: frozenset[str] = frozenset()
    ) -> dict[str, Json]:
        """`value` with its known keys, and those that only their expansion will show to be known or not.

        `of_others` are keys that have a meaning, but not beside the others that are here.
        """
        ignored: list[str] = []
        used: dict[str, Json] = {}
        for key, item in value.items():
            if key in known or "${" in key:
                used[key] = item
            elif not _is_comment(key) and (meant := self._mistaken(key, path, known | of_others)):
                # Read as what was meant, so that the mistakes inside are reported along with this one.
                used.update({} if meant in value else {meant: item})
            elif not _is_comment(key):
                ignored.append(f"'{show_key(self.in_source((*path, key))[-1])}'")
        if ignored:
            self.notes.append(Problem(self.in_source(path), f"ignored unknown keys: {', '.join(ignored)}"))
        return used

    def _mistaken(self, key: str, path: JsonPath, known: frozenset[str]) -> str | None:
        """Report a key that was probably meant to be another one, and say which."""
        if key in _FOREIGN_KEYS or key in known:
            return None
        if key == "mcpServers":
            self._fail((*path, key), _OUTSIDE, at_key=True)
            return key
        meant = _near(key, known)
        if meant:
            self._fail((*path, key), f"unknown key; did you mean '{meant}'?", at_key=True)
        return meant

    def _fail(self, path: JsonPath, sentence: str, *, at_key: bool = False) -> None:
        self.problems.append(Problem(self.in_source(path), sentence, at_key))


def _is_comment(key: str) -> bool:
    return key.startswith("_") or key == "$schema"


def _near(key: str, known: frozenset[str]) -> str | None:
    """The known key that this one was probably meant to be."""
    # Imported late because only files with an unknown key need it, and start-up is counted in milliseconds.
    from difflib import get_close_matches

    folded = {_fold(name): name for name in sorted(known)}
    part_of = [name for name in folded if len(_fold(key)) >= _SHORTEST_PART and _fold(key) in name]
    close = get_close_matches(_fold(key), folded, n=1, cutoff=0.8) or part_of
    return folded[close[0]] if close else None


def _fold(key: str) -> str:
    # Imported late, as above. Compatibility forms look alike: a full-width key must not be a filter that is ignored.
    from unicodedata import normalize

    return normalize("NFKC", key).casefold().replace("_", "").replace("-", "").replace(" ", "")
