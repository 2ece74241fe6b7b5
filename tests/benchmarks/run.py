"""Measures the workbench beside its references; writes nothing into the repository.

Run it with `uv run python tests/benchmarks/run.py`: every figure in one run, in interleaved rounds, so that ratios
hold on a busy machine too. `--help` tells of the other tables.
"""

import argparse
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.figures import Figure, figures_as_json, figures_as_table
from benchmarks.standard import FULL, SHORT, standard_figures


def main() -> None:
    args = parser().parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = list(told(standard_figures(Path(directory), SHORT if args.short else FULL)))
    show(figures_as_json(figures) if args.json else figures_as_table(figures))


def parser() -> argparse.ArgumentParser:
    described = argparse.ArgumentParser(description="Measure the workbench beside its references.")
    described.add_argument("--short", action="store_true", help="only prove that the benchmark runs")
    described.add_argument("--json", action="store_true", help="figures as JSON instead of a table")
    return described


def told(figures: Generator[Figure]) -> Generator[Figure]:
    """The figures, each announced on stderr as it comes: the whole takes a minute or two."""
    for figure in figures:
        sys.stderr.write(f"{figure.what}: {figure.values['workbench']:.4g} {figure.unit}\n")
        yield figure


def show(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
