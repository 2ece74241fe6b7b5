"""The benchmark can run; what it measures is for people to read, and no time is asserted."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.contenders import write_config
from benchmarks.search import DATA, search_table

RUN = Path(__file__).parent / "benchmarks" / "run.py"

pytestmark = pytest.mark.benchmark


def run(*options: str) -> str:
    """What the benchmark prints with these options."""
    command = [sys.executable, str(RUN), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(table: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_short_benchmark_measures_every_figure_with_its_reference() -> None:
    figures: list[dict[str, Any]] = json.loads(run("--short", "--json"))
    assert len(figures) >= 17
    assert all(figure["values"]["workbench"] > 0 and figure["ratio"] > 0 for figure in figures)
    assert {name for figure in figures for name in figure["values"]} == {
        "bare",
        "spawn only",
        "direct",
        "plain",
        "workbench",
    }


def test_growth_has_a_line_for_more_servers_more_tools_and_larger_results() -> None:
    steps = {(servers, tools, size) for servers, tools, size, *_ in rows(run("--growth", "--short"))}
    assert {("1", "1", "10 B"), ("5", "1", "10 B"), ("1", "100", "10 B"), ("1", "1", "1,000,000 B")} <= steps


def test_every_kind_of_call_is_looked_at_for_what_it_leaves_in_memory() -> None:
    assert len(rows(run("--leaks", "--short"))) == 6


def test_the_context_tables_set_each_server_beside_its_listings_and_a_task_beside_all_tools(tmp_path: Path) -> None:
    config = write_config(tmp_path / "workbench-config.json", servers=2, tools=3)
    servers, small, large, note = run("--context", str(config)).split("\n\n")
    assert {name: tools for name, tools, *_ in rows(servers)} == {"s0": "3", "s1": "3", "**all of them**": "6"}
    for task in (small, large):
        assert [what for what, *_ in rows(task)][:2] == ["directly", "workbench, nothing opened"]
        assert len(rows(task)) == 5
    assert note.startswith("Tokens: ")


@pytest.mark.skipif(not DATA.exists(), reason=f"there is no data in {DATA}")
def test_search_finds_what_people_mean() -> None:
    found = {name: float(recall) for name, _, _, _, recall, *_ in rows(run("--search")) if recall}
    assert found["golden.json"] >= 0.77
    assert found["metatool-dev.json"] >= 0.62


def test_without_data_the_search_benchmark_says_that_it_was_skipped(tmp_path: Path) -> None:
    assert search_table(tmp_path) == f"skipped: there is no data in {tmp_path}"


@pytest.mark.pypi
@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_other_programs_are_measured_in_the_same_run() -> None:
    figures: list[dict[str, Any]] = json.loads(run("--peers", "--short", "--json"))
    calls = next(figure["values"] for figure in figures if figure["what"] == "call, small, p50")
    assert {"fastmcp", "pmcp", "workbench"} <= set(calls)
