"""A short fault run; the long one is `uv run python tests/faults/run.py --seconds 120`."""

from pathlib import Path

import pytest

from faults.run import fault_run

pytestmark = [pytest.mark.anyio, pytest.mark.faults]


async def test_no_call_is_lost_misdelivered_or_run_twice_while_servers_keep_breaking(tmp_path: Path) -> None:
    report = await fault_run(tmp_path, seconds=8, seed=20, servers=8)
    assert not report.violations, str(report)
    assert report.tally.correct > 100
    assert report.tally.failed
