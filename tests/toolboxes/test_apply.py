"""A manager whose config changes while it works, and the ways to open that a config can choose."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from mcp_workbench.config.loading import LoadedConfig, parse_config
from mcp_workbench.downstream.caller import Caller
from mcp_workbench.errors import ToolboxNotOpen, UnknownServer, UnknownToolbox
from mcp_workbench.jsonrpc import codec
from mcp_workbench.toolboxes.manager import ClientManager, ToolReference
from wire import PATIENCE, Json, assert_gone, logged, read_log, scripted, text_of

pytestmark = pytest.mark.anyio


def config(toolboxes: Json, **settings: object) -> LoadedConfig:
    boxes = {
        name: {"description": name, **({"mcpServers": box} if "mcpServers" not in box else box)}
        for name, box in toolboxes.items()
    }
    return parse_config(codec.compact({"toolboxes": boxes, **settings}), "test", {})


@asynccontextmanager
async def managing(loaded: LoadedConfig) -> AsyncGenerator[ClientManager]:
    with anyio.fail_after(PATIENCE):
        async with ClientManager.running(loaded) as manager:
            yield manager


async def called(manager: ClientManager, server: str, tool: str, arguments: Json | None = None) -> str:
    return text_of(await manager.call(ToolReference("dev", server, tool), arguments or {}, Caller()))


async def test_a_server_whose_entry_did_not_change_keeps_its_process(tmp_path: Path) -> None:
    kept = scripted(log=str(tmp_path / "kept"))
    async with managing(config({"dev": {"kept": kept}})) as manager:
        await manager.open("dev", Caller())
        before = await called(manager, "kept", "pid")
        manager.apply(config({"dev": {"new": scripted(), "kept": kept}, "more": {}}))
        assert await called(manager, "kept", "pid") == before
        assert list((await manager.open("dev", Caller())).tools) == ["new", "kept"]
    assert len(read_log(tmp_path / "kept", event="start")) == 1


async def test_a_changed_server_finishes_its_call_and_ends_while_its_successor_works(tmp_path: Path) -> None:
    log, gate = tmp_path / "old", tmp_path / "gate"
    async with managing(config({"dev": {"one": scripted(log=str(log), name="old")}})) as manager:
        await manager.open("dev", Caller())
        finished: list[str] = []
        old: Json = {}
        async with anyio.create_task_group() as tasks:

            async def slow() -> None:
                finished.append(await called(manager, "one", "slow", {"file": str(gate)}))

            tasks.start_soon(slow)
            await logged(log, event="executed", tool="slow")
            manager.apply(config({"dev": {"one": scripted(name="new")}}))
            new = int(await called(manager, "one", "pid"))
            old.update(read_log(log, event="start")[0])
            assert new != old["pid"]
            assert finished == []
            gate.touch()
        assert len(finished) == 1
        await assert_gone(old["pid"])


async def test_what_a_config_takes_away_ends_and_is_no_longer_found(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with managing(config({"dev": {"one": scripted(log=str(log)), "two": scripted()}, "other": {}})) as manager:
        await manager.open("dev", Caller())
        manager.apply(config({"dev": {"two": scripted()}}))
        with pytest.raises(UnknownServer):
            await called(manager, "one", "echo")
        with pytest.raises(UnknownToolbox):
            await manager.open("other", Caller())
        await assert_gone(read_log(log, event="start")[0]["pid"])
        assert await called(manager, "two", "echo") == "{}"


async def test_a_slow_server_holds_up_nobody_and_is_there_at_the_next_opening(tmp_path: Path) -> None:
    obstacle = tmp_path / "gate"
    slow = scripted(wait_for=str(obstacle))
    box: Json = {"mcpServers": {"quick": scripted(), "slow": slow}, "openTimeout": 1}
    async with managing(config({"dev": box})) as manager:
        first = await manager.open("dev", Caller())
        assert list(first.tools) == ["quick"]
        assert str(first.errors["slow"]) == (
            "Failed to connect to server 'slow' in toolbox 'dev': still starting after 1 s; "
            "open the toolbox again for its tools"
        )
        obstacle.touch()
        await manager.call(ToolReference("dev", "slow", "echo"), {}, Caller())
        assert list((await manager.open("dev", Caller())).tools) == ["quick", "slow"]


async def test_an_opening_with_nothing_ready_waits_on(tmp_path: Path) -> None:
    box: Json = {"mcpServers": {"slow": scripted(slow_start=0.5)}, "openTimeout": 0.01}
    async with managing(config({"dev": box})) as manager:
        assert list((await manager.open("dev", Caller())).tools) == ["slow"]


async def test_auto_open_connects_the_one_server_that_is_used(tmp_path: Path) -> None:
    servers = {name: scripted(log=str(tmp_path / name)) for name in ("used", "unused")}
    async with managing(config({"dev": servers}, autoOpen=True)) as manager:
        assert await called(manager, "used", "echo") == "{}"
    assert (len(read_log(tmp_path / "used", event="start")), read_log(tmp_path / "unused")) == (1, [])


async def test_without_auto_open_a_toolbox_has_to_be_opened_first() -> None:
    async with managing(config({"dev": {"one": scripted()}})) as manager:
        with pytest.raises(ToolboxNotOpen, match=r"^Toolbox 'dev' is not open"):
            await called(manager, "one", "echo")
