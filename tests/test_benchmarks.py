"""The benchmark can run; what it measures is for people to read, and no time is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "benchmarks" / "run.py"


@pytest.mark.benchmark
def test_the_short_benchmark_measures_every_figure_with_its_reference() -> None:
    done = subprocess.run(
        [sys.executable, str(RUN), "--short", "--json"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert len(figures) >= 15
    assert all(figure["values"]["workbench"] > 0 and figure["ratio"] > 0 for figure in figures)
