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

from benchmarks.context import context_tables
from benchmarks.figures import Figure, figures_as_json, figures_as_table
from benchmarks.growth import growth_table
from benchmarks.leaks import leak_table
from benchmarks.peers import LEFT_OUT, install_peers
from benchmarks.remote import remote_figures
from benchmarks.search import search_table
from benchmarks.standard import FULL, SHORT, Standard

CONFIGS = [
    Path(__file__).parents[2] / "workbench-config.test.json",
    Path(__file__).parent / "published-servers.json",
]


def main() -> None:
    args = parser().parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if args.context is not None:
            show(context_tables(args.context or CONFIGS, Path(directory)))
        elif args.search:
            show(search_table())
        elif args.growth:
            show(growth_table(Path(directory), short=args.short))
        elif args.remote:
            show_remote(Path(directory), args)
        elif args.leaks:
            show(leak_table(Path(directory), short=args.short))
        else:
            show_standard(Path(directory), args)


def show_standard(directory: Path, args: argparse.Namespace) -> None:
    peers = install_peers(directory) if args.peers else []
    figures = list(told(Standard(directory, SHORT if args.short else FULL, peers).figures()))
    show(figures_as_json(figures) if args.json else figures_as_table(figures))
    if peers:
        tell(LEFT_OUT)


def show_remote(directory: Path, args: argparse.Namespace) -> None:
    peers = install_peers(directory) if args.peers else []
    rounds, calls = (2, 10) if args.short else (9, 100)
    figures = list(told(remote_figures(directory, rounds=rounds, calls=calls, peers=peers)))
    show(figures_as_json(figures) if args.json else figures_as_table(figures))


def parser() -> argparse.ArgumentParser:
    described = argparse.ArgumentParser(description="Measure the workbench beside its references.")
    described.add_argument("--short", action="store_true", help="only prove that the benchmark runs")
    described.add_argument("--json", action="store_true", help="figures as JSON instead of a table")
    described.add_argument(
        "--peers",
        action="store_true",
        help="beside other programs too, from PyPI, in a throw-away environment",
    )
    described.add_argument("--search", action="store_true", help="how well and how fast find_tools finds")
    described.add_argument("--growth", action="store_true", help="cost against servers, tools and result sizes")
    described.add_argument("--remote", action="store_true", help="calls to servers over HTTP, and opening twenty")
    described.add_argument("--leaks", action="store_true", help="memory after some and after many calls of every kind")
    described.add_argument(
        "--context",
        nargs="*",
        type=Path,
        metavar="CONFIG",
        help="what a model's context holds with the servers of these configs (default: workbench-config.test.json and "
        "published-servers.json, from npm and PyPI)",
    )
    return described


def told(figures: Generator[Figure]) -> Generator[Figure]:
    """The figures, each announced on stderr as it comes: the whole takes a minute or two."""
    for figure in figures:
        tell(f"{figure.what}: {figure.values['workbench']:.4g} {figure.unit}")
        yield figure


def tell(text: str) -> None:
    sys.stderr.write(text + "\n")


def show(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
