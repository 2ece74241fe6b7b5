"""Servers that start afresh when their sources change, for people who develop them."""

import logging
import sys
from pathlib import Path

import anyio
import pytest

from mcp_workbench.config.loading import parse_config
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.jsonrpc import codec
from mcp_workbench.toolboxes.manager import ClientManager
from mcp_workbench.upstream.development import Pattern, follow_sources
from serving import opened, serving, used, using
from wire import PATIENCE, Json, assert_gone, eventually, logged, read_log, scripted, text_of


def developed(log: Path, sources: Path, *patterns: str) -> Json:
    return scripted(log=str(log)) | {"dev": {"watch": list(patterns), "cwd": str(sources)}}


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("*.py", "one.py", True),
        ("*.py", "deep/one.py", False),
        ("**/*.py", "one.py", True),
        ("**/*.py", "deep/er/one.py", True),
        ("**/*.py", "one.js", False),
        ("src/**", "src/any/thing", True),
        ("src/**/test_*.py", "src/a/test_b.py", True),
        ("src/**/test_*.py", "other/test_b.py", False),
        ("s*/[ab].py", "src/b.py", True),
        ("s*/[ab].py", "src/c.py", False),
        ("server.py", "server.py", True),
        ("src", "src/deep/one.py", True),
        ("../beside/*.py", "../beside/one.py", True),
        ("**", "__pycache__/one.cpython-311.pyc", False),
        ("**", ".git/index", False),
        ("**", "one.py~", False),
    ],
)
def test_a_pattern_means_files_as_in_a_shell(tmp_path: Path, pattern: str, path: str, meant: bool) -> None:
    base = tmp_path / "project"
    (base / "src").mkdir(parents=True)
    assert Pattern.of(pattern, base).means((base / path).resolve()) is meant


def test_an_absolute_pattern_stands_for_itself(tmp_path: Path) -> None:
    pattern = Pattern.of(str(tmp_path / "*.py"), Path("/elsewhere"))
    assert pattern.means(tmp_path.resolve() / "one.py")
    assert not pattern.recursive


@pytest.mark.anyio
async def test_a_server_starts_afresh_when_its_sources_change_and_finishes_its_calls(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles", reason="watchfiles is not installed (mcp-workbench[dev])", exc_type=ImportError)
    sources, gate, log, unused_log = (tmp_path / name for name in ("project", "gate", "log", "unused"))
    build = sources / "src" / "build"
    build.mkdir(parents=True)
    toolboxes: Json = {
        "dev": {"one": developed(log, sources, "src/**/*.py", "dist/*.js")},
        "unused": {"one": developed(unused_log, sources, "src/**/*.py")},
    }
    async with serving(tmp_path, toolboxes) as client:

        async def restarted(times: int) -> None:
            with anyio.fail_after(PATIENCE):
                await eventually(lambda: client.stderr.count("dev/one: its sources changed") >= times)

        await opened(client, "dev")
        first = int(text_of(await used(client, "dev", "one", "pid")))
        call = await client.start_call("use_tool", using("dev", "one", "slow", {"file": str(gate)}))
        await logged(log, event="executed", tool="slow")

        (build / "server.py").write_text("changed")
        await restarted(1)
        second = int(text_of(await used(client, "dev", "one", "pid")))
        assert second != first
        assert not call.done
        gate.touch()
        assert "isError" not in await call.wait()
        await assert_gone(first)

        (sources / "dist").mkdir()  # a build makes its directory only now
        (sources / "dist" / "server.js").write_text("built")
        await restarted(2)
        await assert_gone(second)
        assert len(read_log(log, event="start")) == 2  # the next use starts it, and nothing else
    assert read_log(unused_log) == []


@pytest.mark.anyio
async def test_without_watchfiles_a_warning_says_what_to_install_and_serving_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)  # how Python is told that there is no such module
    box: Json = {"description": "x", "mcpServers": {"one": developed(tmp_path / "log", tmp_path, "*.py")}}
    loaded = parse_config(codec.compact({"toolboxes": {"dev": box}}), "test", {})
    with anyio.fail_after(PATIENCE), caplog.at_level(logging.WARNING):
        async with ClientManager.running(loaded) as manager, anyio.create_task_group() as tasks:
            tasks.start_soon(follow_sources, manager)
            assert list((await manager.open("dev", Caller())).tools) == ["one"]
            tasks.cancel_scope.cancel()
    (warning,) = [record.getMessage() for record in caplog.records if "sources" in record.getMessage()]
    assert warning.startswith("dev/one: not restarted when the sources change: install watchfiles")
    assert "mcp-workbench[dev]" in warning
