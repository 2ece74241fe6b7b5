"""What the workbench remembers of other programs' files, in the user's data directory and readable by the user alone.

Two things: where each server that was imported went, so that it is known again when it was edited since; and what
`install` did to a client's file, so that `uninstall` can undo it. A record that cannot be read counts as none.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from mcp_workbench.clients.safe_write import FileProblem, read_text, remove_file, write_private
from mcp_workbench.config.document import Json
from mcp_workbench.directories import data_dir

_T = TypeVar("_T")


@dataclass(frozen=True)
class Imported:
    """A server of a client's file, and where it stands in a config."""

    config: str
    file: str
    keys: Sequence[str]
    toolbox: str
    server: str

    @property
    def source(self) -> tuple[str, tuple[str, ...]]:
        """What tells one imported server from another."""
        return self.file, tuple(self.keys)


@dataclass(frozen=True)
class Taken:
    """An entry that was taken out of a client's file."""

    keys: Sequence[str]
    entry: Json = field(repr=False)


@dataclass(frozen=True)
class Installed:
    """What was done to a client's file. `before` is None where there was no file."""

    path: str
    before: str | None = field(repr=False)
    after: str = field(repr=False)
    added: Sequence[Sequence[str]] = ()
    taken: Sequence[Taken] = ()


def imported_into(config: Path) -> Mapping[tuple[str, tuple[str, ...]], Imported]:
    """Return the servers that were imported into a config, by where they came from."""
    return {each.source: each for each in _imports() if each.config == str(config)}


def remember_imports(new: Iterable[Imported]) -> None:
    """Add to the servers that were imported.

    Raises:
        FileProblem: That cannot be written down.
    """
    known = {(each.config, each.source): each for each in _imports()}
    after = known | {(each.config, each.source): each for each in new}
    if after != known:
        _write(_imports_file(), {"imports": [asdict(each) for each in after.values()]})


def installed_in(client_id: str) -> list[Installed]:
    """Return what was done to a client's files, one record for each file."""
    return _records(_read(_installed_file(client_id)), "files", _installed)


def remember_installed(client_id: str, records: Sequence[Installed]) -> None:
    """Replace the records of a client.

    Raises:
        FileProblem: That cannot be written down.
    """
    path = _installed_file(client_id)
    if records:
        _write(path, {"files": [asdict(each) for each in records]})
    elif (text := read_text(path)) is not None:
        remove_file(path, text)


def _imports() -> list[Imported]:
    return _records(_read(_imports_file()), "imports", lambda item: Imported(**item))


def _installed(item: dict[str, Any]) -> Installed:
    taken = [Taken(**each) for each in cast("list[dict[str, Any]]", item.pop("taken"))]
    return Installed(**item, taken=taken)


def _imports_file() -> Path:
    return data_dir() / "imports.json"


def _installed_file(client_id: str) -> Path:
    return data_dir() / "installed" / f"{client_id}.json"


def _records(document: object, key: str, make: Callable[[dict[str, Any]], _T]) -> list[_T]:
    items = cast("dict[str, Any]", document).get(key) if isinstance(document, dict) else None
    made: list[_T] = []
    for item in cast("list[Any]", items) if isinstance(items, list) else []:
        try:
            made.append(make(dict(item)))
        except (TypeError, ValueError, KeyError):  # written by a version that had other fields
            continue
    return made


def _read(path: Path) -> object:
    try:
        return json.loads(read_text(path) or "null")
    except (FileProblem, ValueError, RecursionError):
        return None


def _write(path: Path, document: object) -> None:
    try:
        write_private(path, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    except FileProblem as error:
        raise FileProblem(f"what was done cannot be written down, so it could not be undone: {error}") from None
