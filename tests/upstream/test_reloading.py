"""A config that changes while a client is connected, and values that are asked for when a server starts."""

import json
import sys
from pathlib import Path

import anyio
import pytest

from wire import PATIENCE, Json, WireClient, eventually, logged, read_log, scripted, text_of, workbench

pytestmark = pytest.mark.anyio


def write(path: Path, toolboxes: dict[str, Json], **keys: object) -> None:
    boxes = {name: {"description": name, "mcpServers": servers} for name, servers in toolboxes.items()}
    fresh = path.with_name("fresh.json")
    fresh.write_text(json.dumps({"toolboxes": boxes, **keys}), encoding="utf-8")
    fresh.replace(path)  # as editors write


async def said(client: WireClient, text: str, times: int = 1) -> None:
    with anyio.fail_after(PATIENCE):
        await eventually(lambda: client.stderr.count(text) >= times)


async def opened(client: WireClient, toolbox: str) -> Json:
    return await client.call_tool("open_toolbox", {"toolbox_name": toolbox})


def use(toolbox: str, tool: str, **arguments: object) -> Json:
    return {"tool": {"toolbox": toolbox, "server": "one", "tool": tool}, "arguments": arguments}


async def test_what_did_not_change_goes_on_and_the_rest_is_as_the_config_says(tmp_path: Path) -> None:
    config, done = tmp_path / "c.json", tmp_path / "done"
    logs = {name: tmp_path / name for name in ("kept", "changed", "gone", "new")}
    kept, changed, gone, new = ({"one": scripted(log=str(log))} for log in logs.values())
    write(config, {"kept": kept, "changed": changed, "gone": gone})
    async with WireClient.spawn(workbench(config)) as client:
        for name in ("kept", "changed", "gone"):
            await opened(client, name)
        pids = {name: read_log(log, event="start")[0]["pid"] for name, log in logs.items() if log.exists()}
        call = await client.start_call("use_tool", use("kept", "slow", file=str(done)))
        last = await client.start_call("use_tool", use("gone", "slow", file=str(done)))
        await logged(logs["kept"], event="executed", tool="slow")
        await logged(logs["gone"], event="executed", tool="slow")

        changed["one"]["env"] = {"NEW": "value"}
        write(config, {"kept": kept, "changed": changed, "new": new})
        await said(client, "the config has changed, and is in use as it is now")
        assert not call.done
        assert '"servers_connected":1' in text_of(await opened(client, "new"))
        assert "Toolbox 'gone' not found" in text_of(await opened(client, "gone"))
        await opened(client, "changed")
        starts = read_log(logs["changed"], event="start")
        assert len({start["pid"] for start in starts}) == 2

        config.write_text("{ typo", encoding="utf-8")
        await said(client, "the config stays as it was, since it cannot be read as it is now")
        assert "isError" not in await opened(client, "new")
        write(config, {"kept": kept, "new": new})
        await said(client, "the config has changed, and is in use as it is now", 2)

        done.touch()
        assert "isError" not in await call.wait()
        assert "isError" not in await last.wait()
        assert [start["pid"] for start in read_log(logs["kept"], event="start")] == [pids["kept"]]
        assert client.stderr.count("the config stays as it was") == 1


async def test_a_command_gives_its_value_at_each_start_and_its_failures_are_reasons(tmp_path: Path) -> None:
    config, secret = tmp_path / "c.json", tmp_path / "secret"
    secret.write_text("s3cret-first\n", encoding="utf-8")

    def needs(*words: str) -> Json:
        return scripted(log=str(tmp_path / "log"), log_env=["KEY"]) | {"env": {"KEY": f"${{cmd: {' '.join(words)}}}"}}

    python = sys.executable
    broken = {
        "fails": (needs("ls", "/no/such/file"), "failed with exit status"),
        "silent": (needs("true"), "printed nothing"),
        "missing": (needs("no-such-command"), "command not found: 'no-such-command'"),
        "endless": (needs(python, "-c", "'print(str(1)*1_000_000)'"), "printed more than 65,536 bytes"),
    }
    write(config, {"dev": {"one": needs("cat", str(secret)), **{name: entry for name, (entry, _) in broken.items()}}})
    async with WireClient.spawn(workbench(config)) as client:
        answer = text_of(await opened(client, "dev"))
        assert all(reason in answer for _, reason in broken.values())
        (start,) = await logged(tmp_path / "log", event="start")
        assert start["env"]["KEY"] == "s3cret-first"
    assert "s3cret-first" not in client.stderr
