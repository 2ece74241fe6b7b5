"""Changes to the text of a TOML file that leave everything else in it as it was: order, layout, comments.

A table is put at the end of the file and taken out by its lines, so that no other line is touched; only where servers
stand in an unusual way is the document rewritten by `tomlkit`. Every change is checked: the new text must read as the
old one with exactly the change made.
"""

import copy
import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any, cast

from mcp_workbench.clients.json_edit import UnsafeEdit, with_value, without_value
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import NotJson

_MARK = "\ufeff"
_HEADER = re.compile(r"""[ \t]*(?P<header>\[(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\[\]"'#\r\n])+\])[ \t]*(?:#.*)?\r?\n?""")


def parse(text: str) -> Json:
    """Read a whole text.

    Raises:
        NotJson: It is not TOML; the message says where.
    """
    return cast("Json", _plain(_read(text)))


def set_value(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with a table at `path`.

    Raises:
        NotJson: The text is not TOML.
        UnsafeEdit: The result would not read as meant.
    """
    old = _read(text)
    wanted = with_value(old, path, value)
    if wanted == old:
        return text
    base = _cut(text, path) if _at(old, path) is not None else text
    return _first_that_reads_as(wanted, (_appended(base, path, value), *_rewritten(text, path, value)))


def remove_value(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at `path`.

    Raises:
        NotJson: The text is not TOML.
        UnsafeEdit: The result would not read as meant.
    """
    old = _read(text)
    if _at(old, path) is None:
        return text
    wanted = without_value(old, path)
    return _first_that_reads_as(wanted, (_cut(text, path), *_rewritten(text, path, None)), path[:-1])


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(_MARK).replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(str(error)) from None
    except RecursionError:
        raise NotJson("it is nested too deeply to be a config") from None


def _not_toml(message: str) -> NotJson:
    place = re.search(r" \(at line ([0-9]+), column ([0-9]+)\)$", message)
    problem = f"not valid TOML: {message[:1].lower()}{message[1 : place.start() if place else None]}"
    return NotJson(problem, int(place[1]), int(place[2])) if place else NotJson(problem)


def _first_that_reads_as(wanted: object, texts: Sequence[str], around: Sequence[str] = ()) -> str:
    for text in texts:
        try:
            read = _read(text)
        except NotJson:
            continue
        # A table that has lost its last member may be gone with it.
        if read == wanted or (around and with_value(read, around, _at(read, around) or {}) == wanted):
            return text
    raise UnsafeEdit("its layout is too unusual to be changed without risk")


def _appended(text: str, path: Sequence[str], value: object) -> str:
    import tomlkit

    nested: Any = value
    for name in reversed(path):
        nested = {name: nested}
    rendered = tomlkit.dumps(_super_tables(nested, len(path) - 1)).strip("\n") + "\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    return text + gap + rendered.replace("\n", newline)


def _super_tables(nested: dict[str, Any], depth: int) -> Any:
    """The outer tables, of which only the names of inner ones are to be written."""
    import tomlkit

    table = tomlkit.document() if depth >= 0 else tomlkit.table()
    for key, value in nested.items():
        table[key] = _inner(cast("dict[str, Any]", value), depth) if isinstance(value, dict) else value
    return table


def _inner(value: dict[str, Any], depth: int) -> Any:
    import tomlkit

    table = tomlkit.table(is_super_table=depth > 0)
    ordered = sorted(value.items(), key=lambda member: isinstance(member[1], dict))
    for key, item in ordered:
        inner = cast("dict[str, Any]", item)
        table[key] = _inner(inner, depth - 1) if isinstance(item, dict) and item else item
    return table


def _rewritten(text: str, path: Sequence[str], value: object | None) -> Iterator[str]:
    """The document as `tomlkit` writes it after the change; with Windows line ends its new lines would be mixed."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse(text.removeprefix(_MARK))
        here = document
        for name in path[:-1]:
            here = here[name]
        if value is None:
            del here[path[-1]]
        else:
            here[path[-1]] = copy.deepcopy(value)
        yield (_MARK if text.startswith(_MARK) else "") + tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError):
        return


def _cut(text: str, path: Sequence[str]) -> str:
    """The text without the lines of a table and its inner ones; comments above the next table stay with that one."""
    kept: list[str] = []
    inside: list[str] | None = None
    for line in _lines(text):
        header = _header(line)
        if header is not None:
            if inside is not None:
                kept += _comments_at_the_end(inside)
            inside = [] if header[: len(path)] == list(path) else None
        if inside is None:
            kept.append(line)
        else:
            inside.append(line)
    if inside is not None:
        rest = _comments_at_the_end(inside)
        kept += rest if any(line.strip() for line in rest) else []
        while kept and not kept[-1].strip() and not any(line.strip() for line in rest):
            kept.pop()
    return "".join(kept)


def _lines(text: str) -> Iterator[str]:
    """Lines, where a string over several of them counts as one, so that nothing in it is taken for a header."""
    pending, quote = "", None
    for line in re.split(r"(?<=\n)", text):
        pending += line
        for mark in re.findall(r'"""|\'\'\'', line):
            quote = mark if quote is None else None if quote == mark else quote
        if quote is None:
            yield pending
            pending = ""
    if pending:
        yield pending


def _header(line: str) -> list[str] | None:
    """The keys of a table's header, none for a header of another kind, None for any other line."""
    match = _HEADER.fullmatch(line.removeprefix(_MARK))
    if match is None:
        return [] if line.lstrip().startswith("[[") else None
    try:
        inside = tomllib.loads(match["header"])
    except tomllib.TOMLDecodeError:
        return None
    names: list[str] = []
    while inside:
        names.append(next(iter(inside)))
        inside = inside[names[-1]]
    return names


def _comments_at_the_end(lines: Sequence[str]) -> list[str]:
    """The comments between a table's last member and the next header: they are about that one."""
    at = len(lines)
    while at > 1 and (not lines[at - 1].strip() or lines[at - 1].lstrip().startswith("#")):
        at -= 1
    rest = list(lines[at:])
    if not any(line.strip() for line in rest):
        return []
    while rest and not rest[0].strip():
        rest.pop(0)
    return rest


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value


def _plain(value: Any) -> Any:
    """What TOML has and JSON has not, as text."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value.isoformat() if isinstance(value, datetime | date | time) else value
