"""What the commands write to: a console that is plain wherever it is not a terminal.

Text from elsewhere passes `line` or `paragraph` before it is shown, so that nothing in it steers the terminal. Whatever
the width, a name is shown whole and words are kept together: `write_folded` breaks lines between words only, and
`write_rows` makes a table only where it fits.
"""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mcp_workbench.hidden_characters import escaped_json, shown, shown_in_line

__all__ = [
    "Column",
    "console",
    "joined_names",
    "line",
    "paragraph",
    "rows",
    "shown",
    "shown_in_line",
    "write_folded",
    "write_json",
    "write_json_line",
]

_WORD = re.compile(r"\S+")
_NO_MARGIN = 10_000
_NARROWEST = 20
_GAP = 2

Column = tuple[str, str]
"""Its title, and whether it is "left" or "right"."""


class _Console(Console):
    """A console that leaves it to the command line what happens when the reader of its output has gone."""

    def on_broken_pipe(self) -> None:
        """Let the `BrokenPipeError` that is being handled go its way."""
        raise  # rich calls this while it handles the error


def console(*, stderr: bool = False, soft_wrap: bool = True) -> Console:
    """Return a console on stdout: colours on a terminal only, never with NO_COLOR, long paths left whole.

    With `soft_wrap=False` a terminal's lines are folded between words and columns fit its width; in a file or a pipe,
    which has no margin, they stay whole all the same.
    """
    made = _Console(stderr=stderr, highlight=False, soft_wrap=soft_wrap, emoji=False)
    if not soft_wrap and not made.is_terminal:
        made.width = _NO_MARGIN
    return made


def line(text: object) -> str:
    """Return foreign text for a place within a line of rich's: no markup, no line break, nothing hidden."""
    return escape(shown_in_line(str(text)))


def paragraph(text: object) -> str:
    """Return foreign text of several lines for rich: no markup, nothing hidden."""
    return escape(shown(str(text)))


def write_folded(out: Console, markup: str, indent: int = 0, hanging: int = 0) -> None:
    """Write a text within the margins, broken between words; a longer word is left whole, for the terminal to break.

    Args:
        out: Where to.
        markup: The text.
        indent: How far in it begins.
        hanging: How much further in its other lines begin.
    """
    for each in _folded(out, markup, indent, hanging):
        out.print(each, no_wrap=True, overflow="ignore", crop=False)


def rows(out: Console, columns: Sequence[Column], cells: Sequence[Sequence[str]], names: int = 2) -> RenderableType:
    """Return a table, or where it does not fit, each row as its names and below them what the other columns say.

    Args:
        out: What it will be shown on.
        columns: The columns.
        cells: The rows, as markup; they may be shorter than the columns.
        names: How many columns, from the left, are the names that belong together.
    """
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for title, side in columns:
        table.add_column(title, justify="right" if side == "right" else "left", no_wrap=True)
    for row in cells:
        table.add_row(*row)
    widths = [
        max((_marked(row[at]).cell_len for row in (titles(columns), *cells) if at < len(row)), default=0)
        for at in range(len(columns))
    ]
    if sum(widths) + _GAP * len(columns) <= out.width:
        return table
    return Group(*(text for row in cells for text in _stacked(out, columns, row, names)))


def joined_names(out: Console, names: Sequence[str]) -> str:
    """Return names that belong together, as markup: `dev/files`, or with a place to break the line at."""
    joined = "/".join(names)
    return joined if _marked(joined).cell_len <= out.width else "/ ".join(names)


def titles(columns: Sequence[Column]) -> list[str]:
    """Return what stands above each column."""
    return [title for title, _ in columns]


def write_json(value: Any) -> None:
    """Write a value to stdout for another program to read; what could steer a terminal is in it as JSON escapes."""
    sys.stdout.write(escaped_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n")


def write_json_line(value: Any) -> None:
    """Write a value to stdout as one line, likewise."""
    sys.stdout.write(escaped_json(json.dumps(value, ensure_ascii=False)) + "\n")


def _stacked(out: Console, columns: Sequence[Column], row: Sequence[str], names: int) -> list[Text]:
    pairs = [f"{title} {cell}" for (title, _), cell in zip(columns[names:], row[names:], strict=False) if cell]
    return [
        *_folded(out, joined_names(out, row[:names]), 0, _GAP),
        *(_folded(out, ", ".join(pairs), _GAP, 0) if pairs else ()),
    ]


def _folded(out: Console, markup: str, indent: int, hanging: int) -> list[Text]:
    margin, room = Text(" " * indent, overflow="fold"), max(out.width - indent, _NARROWEST)
    folded: list[Text] = []
    for paragraph in _marked(markup).split(allow_blank=True):
        for piece in paragraph.divide(_breaks(paragraph.plain, room, hanging)):
            piece.rstrip()
            folded.append(margin + (Text(" " * hanging) if folded else Text()) + piece)
    return folded


def _marked(markup: str) -> Text:
    return Text.from_markup(markup, emoji=False)


def _breaks(text: str, room: int, hanging: int) -> list[int]:
    """Where a text is broken into lines: before each word that has no room any more. rich would break long words."""
    breaks: list[int] = []
    began = 0
    for word in _WORD.finditer(text):
        if word.start() > began and cell_len(text[began : word.end()]) > room - (hanging if breaks else 0):
            began = word.start()
            breaks.append(began)
    return breaks
