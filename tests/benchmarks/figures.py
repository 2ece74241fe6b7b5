"""What a benchmark finds out, and the table and JSON it is shown as."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles

Row = Sequence[str]

FIRST_COLUMNS = ["bare", "spawn only", "direct", "plain", "workbench"]


@dataclass(frozen=True)
class Figure:
    """One measured quantity of the workbench beside those of its references, and the goal."""

    what: str
    unit: str
    values: dict[str, float]
    reference: str
    ratio: float
    """Of the workbench's value to that of its reference."""
    goal: str = ""


def figure_of_rounds(
    what: str, unit: str, rounds: Mapping[str, Sequence[float]], reference: str = "plain", goal: str = ""
) -> Figure:
    """The middle values of rounds in which everything was measured in turn.

    The ratio is the middle one of those within a round, since what else the machine does changes from round to round.
    """
    values = {name: median(samples) for name, samples in rounds.items()}
    pairs = zip(rounds["workbench"], rounds[reference], strict=True)
    return Figure(what, unit, values, reference, median(ours / theirs for ours, theirs in pairs), goal)


def percentile_99(samples: Sequence[float]) -> float:
    return quantiles(samples, n=100, method="inclusive")[98]


def figures_as_json(figures: Iterable[Figure]) -> str:
    return json.dumps([asdict(figure) for figure in figures], indent=2)


def figures_as_table(figures: Sequence[Figure]) -> str:
    names = list(dict.fromkeys([*FIRST_COLUMNS, *(name for figure in figures for name in figure.values)]))
    rows = [_row(figure, names) for figure in figures]
    return markdown_table(["what", "unit", *names, "ratio", "goal"], rows)


def _row(figure: Figure, names: Sequence[str]) -> Row:
    values = [_number(figure.values.get(name)) for name in names]
    return [figure.what, figure.unit, *values, f"{figure.ratio:.2f} x {figure.reference}", figure.goal]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def markdown_table(head: Row, rows: Sequence[Row]) -> str:
    """A Markdown table whose columns line up in a terminal too."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [head, ["-" * width for width in widths], *rows]
    ]
    return "\n".join(lines)
