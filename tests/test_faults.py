"""A short fault run, and one line of the shutdown table; the long ones are the scripts in `tests/faults/`."""

import sys
from pathlib import Path

import pytest

from faults.run import fault_run
from faults.shutdown import KINDS, WAYS, measure
from wire import Era

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.faults,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups are POSIX"),
]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_no_call_is_lost_misdelivered_or_run_twice_while_servers_keep_breaking(tmp_path: Path, era: Era) -> None:
    report = await fault_run(tmp_path, seconds=6, seed=20, servers=8, era=era)
    assert not report.violations, str(report)
    assert report.tally.correct > 100
    assert report.tally.failed


@pytest.mark.parametrize("way", WAYS)
def test_twenty_servers_of_every_kind_leave_nothing_behind(way: str) -> None:
    end = measure(KINDS[-1], way)
    assert (end.status, end.left) == (0, 0)
