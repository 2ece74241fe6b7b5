"""What the tests start is the real program: forked from one that has imported it, or started afresh, it is the same."""

import os
import signal
import sys
from pathlib import Path

import anyio
import anyio.abc
import psutil
import pytest

from starting import DEVNULL, PROGRAM, ForkedProcess, open_process, run_process
from terminal import environment
from wire import PATIENCE, WireClient, workbench, write_config

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every start is a fresh one"),
]
both = pytest.mark.parametrize("fresh", [False, True], ids=["forked", "fresh"])


@pytest.mark.parametrize(
    ("extra", "forked"), [({}, True), ({"HOME": "/"}, True), ({"PYTHONUTF8": "1"}, False), ({"LC_ALL": "C"}, False)]
)
async def test_what_the_interpreter_itself_would_heed_is_started_afresh(
    tmp_path: Path, extra: dict[str, str], forked: bool
) -> None:
    env = {name: value for name, value in environment().items() if name not in extra}
    process = await open_process([*PROGRAM, "--version"], env=env | extra, cwd=tmp_path, stdout=DEVNULL)
    await process.aclose()
    assert (isinstance(process, ForkedProcess), process.returncode) == (forked, 0)


@both
async def test_statuses_and_output_are_the_programs_own(tmp_path: Path, fresh: bool) -> None:
    for words, status in [(("--version",), 0), (("list",), 1), (("--nonsense",), 2)]:
        done = await run_process([*PROGRAM, *words], env=environment(), cwd=tmp_path, fresh=fresh)
        assert done.returncode == status
        assert bool(done.stdout) == (status == 0)
        assert bool(done.stderr) == (status != 0)


@both
async def test_a_reader_that_has_gone_is_met_by_the_program_itself(tmp_path: Path, fresh: bool) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = await run_process(
            [*PROGRAM, "schema"], env=environment(), cwd=tmp_path, stdin=DEVNULL, stdout=writer, fresh=fresh
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


async def test_both_lead_their_session_and_hold_the_same_descriptors(tmp_path: Path) -> None:
    assert await seen_of_a_start(tmp_path, fresh=False) == await seen_of_a_start(tmp_path, fresh=True)


async def seen_of_a_start(tmp_path: Path, *, fresh: bool) -> list[str]:
    command = workbench(write_config(tmp_path, {}))
    process = await open_process(command, env=environment(), cwd=tmp_path, start_new_session=True, fresh=fresh)
    async with process:
        await answered(process)
        seen = psutil.Process(process.pid)
        assert (os.getsid(process.pid), os.getpgid(process.pid)) == (process.pid, process.pid)
        assert seen.cwd() == str(tmp_path)
        assert seen.children() == []
        descriptors = Path(f"/proc/{process.pid}/fd")
        links = {name: os.readlink(descriptors / name) for name in os.listdir(descriptors)}
    assert process.returncode == 0
    return sorted(f"{name} {link.split(':')[0]}" for name, link in links.items())


async def answered(process: anyio.abc.Process) -> None:
    """Wait until the program serves."""
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    with anyio.fail_after(PATIENCE):
        assert b"result" in await process.stdout.receive()


@both
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGTERM])
async def test_a_signal_ends_it_as_it_ends_any_process(tmp_path: Path, fresh: bool, number: signal.Signals) -> None:
    command = workbench(write_config(tmp_path, {}))
    process = await open_process(command, env=environment(), cwd=tmp_path, start_new_session=True, fresh=fresh)
    async with process:
        await answered(process)
        process.send_signal(number)
        with anyio.fail_after(PATIENCE):
            status = await process.wait()
    assert status == (0 if number is signal.SIGTERM else -number)


async def test_nothing_of_one_start_is_seen_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for name in ("one", "two"):
        config = write_config(tmp_path / name, {name: {}})
        env = {"WORKBENCH_CONFIG": str(config)} if name == "one" else {}
        async with WireClient.spawn([*PROGRAM], env=env, cwd=tmp_path / name) as client:
            assert f"- {name} (" in (client.instructions or "")
        assert client.returncode == 0
