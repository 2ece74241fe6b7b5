"""What a workbench writes down while it serves, and how `logs` and `status` show it."""

import json
import os
import signal
from pathlib import Path

import anyio
import pytest

from terminal import run, terminal
from wire import Era, Json, WireClient, eventually, scripted, workbench, write_config

pytestmark = pytest.mark.anyio

SECRET = "sk-1a2B3c4D5e6F"
CLIENT: Json = {"name": "some-client", "version": "1.2"}


def state(tmp_path: Path) -> dict[str, str]:
    """Where this test's workbenches write, and nobody else's."""
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def log_of(tmp_path: Path) -> Path:
    return tmp_path / "state" / "mcp-workbench" / "log.jsonl"


def tool(name: str, **arguments: object) -> Json:
    return {"tool": {"toolbox": "dev", "server": "s", "tool": name}, "arguments": arguments}


async def records(tmp_path: Path, *words: str) -> list[Json]:
    done = await run("logs", "--json", "-n", "0", *words, cwd=tmp_path, env=state(tmp_path))
    assert (done.status, done.err) == (0, "")
    return [json.loads(line) for line in done.out.splitlines()]


async def status(tmp_path: Path) -> list[Json]:
    done = await run("status", "--json", cwd=tmp_path, env=state(tmp_path))
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)["workbenches"]


async def until_described(tmp_path: Path, **wanted: object) -> Json:
    """The workbench, once its server is described so."""

    def described() -> Json | None:
        for path in (tmp_path / "state" / "mcp-workbench" / "running").glob("*.json"):
            workbench: Json = json.loads(path.read_text())
            if any(wanted.items() <= server.items() for server in workbench["servers"]):
                return workbench
        return None

    with anyio.fail_after(90):
        await eventually(lambda: described() is not None)
    found = described()
    assert found is not None
    return found


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_log_tells_which_tool_was_called_when_how_long_it_took_and_whether_it_failed(
    tmp_path: Path, era: Era
) -> None:
    config = write_config(tmp_path, {"dev": {"s": scripted(env=1) | {"env": {"KEY": SECRET}}}})
    async with WireClient.spawn(workbench(config), env=state(tmp_path), era=era, client_info=CLIENT) as client:
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        await client.call_tool("use_tool", tool("echo", text="what nobody needs to know"))
        await client.call_tool("use_tool", tool("fail", text="no"))
        await client.call_tool("use_tool", tool("error", code=-32000, message=f"bad key {SECRET}"))
        await client.call_tool("use_tool", tool("ehco"))
        handle = await client.start_call("use_tool", tool("slow"))
        await until_described(tmp_path, calls=4)
        await handle.cancel()
        await client.call_tool("use_tool", tool("crash", status=3, stderr=f"died of {SECRET}"))
    logged = await records(tmp_path)
    calls = [record for record in logged if record["event"] == "call"]
    assert [(call["tool"], call["outcome"]) for call in calls] == [
        ("echo", "ok"),
        ("fail", "tool error"),
        ("error", "failed"),
        ("ehco", "refused"),
        ("slow", "cancelled"),
        ("crash", "failed"),
    ]
    assert all((call["toolbox"], call["server"]) == ("dev", "s") and call["ms"] >= 0 for call in calls)
    assert calls[2]["reason"] == "bad key *** (code -32000)"
    assert calls[5]["reason"].startswith("exited with status 3")
    assert "died of ***" in calls[5]["reason"]
    events = [(record["event"], record.get("state")) for record in logged if record["event"] != "call"]
    assert events[:3] == [("workbench started", None), ("client", None), ("server", "connecting")]
    assert ("server", "ready") in events
    assert ("server", "waiting") in events
    assert events[-1] == ("workbench ended", None)
    assert [record["name"] for record in logged if record["event"] == "client"] == ["some-client"]
    written = log_of(tmp_path).read_text()
    assert "nobody needs" not in written
    assert SECRET not in written
    assert [record["time"] for record in logged] == sorted(record["time"] for record in logged)


async def test_arguments_and_results_are_logged_where_the_config_wants_it_without_secrets(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"dev": {"s": scripted() | {"env": {"KEY": SECRET}}}})
    config.write_text(json.dumps({"logArguments": True, **json.loads(config.read_text())}))
    async with WireClient.spawn(workbench(config), env=state(tmp_path)) as client:
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        await client.call_tool("use_tool", tool("echo", text=f"key {SECRET}", more="x" * 5000))
    (call,) = [record for record in await records(tmp_path) if record["event"] == "call"]
    assert call["arguments"].startswith('{"text":"key ***"')
    assert '"content"' in call["result"]
    assert SECRET not in log_of(tmp_path).read_text()
    assert len(call["arguments"]) <= 2000


async def test_logs_can_be_narrowed_and_followed(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"dev": {"s": scripted(), "other": scripted()}, "ops": {"s": scripted()}})
    async with WireClient.spawn(workbench(config), env=state(tmp_path)) as client:
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        await client.call_tool("use_tool", tool("echo", text="a"))
        await until_described(tmp_path, calls=1)
        async with terminal("logs", "-f", "dev", "s", cwd=tmp_path, env=state(tmp_path)) as shown:
            await shown.shows("dev/s  echo")
            await client.call_tool("use_tool", tool("fail", text="no"))
            await shown.shows("tool error")
            shown.interrupt()
    assert shown.process.returncode == 130
    assert "other" not in shown.text
    assert "workbench started" not in shown.text
    assert {record["server"] for record in await records(tmp_path, "dev", "s")} == {"s"}
    assert {record["server"] for record in await records(tmp_path, "dev")} == {"s", "other"}
    done = await run("logs", "-n", "1", cwd=tmp_path, env=state(tmp_path))
    assert "workbench ended, process" in done.out
    assert len(done.out.splitlines()) == 1
    done = await run("logs", "nothing", cwd=tmp_path, env=state(tmp_path))
    assert done.err.startswith("Nothing is logged about nothing in ")


async def test_status_shows_each_workbench_while_it_runs_and_its_servers(tmp_path: Path) -> None:
    config = write_config(
        tmp_path, {"dev": {"s": scripted(), "bad": {"command": "no-such-program"}}, "ops": {"o": scripted()}}
    )
    assert await status(tmp_path) == []
    async with WireClient.spawn(workbench(config), env=state(tmp_path), client_info=CLIENT) as client:
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        await client.call_tool("use_tool", tool("echo", text="a"))
        await client.call_tool("use_tool", tool("fail", text="no"))
        await until_described(tmp_path, calls=2)
        async with WireClient.spawn(workbench(config), env=state(tmp_path)):
            with anyio.fail_after(90):
                folder = tmp_path / "state" / "mcp-workbench" / "running"
                await eventually(lambda: len([*folder.glob("*.json")]) == 2)
            both = await status(tmp_path)
            assert len(both) == 2
        (found,) = await status(tmp_path)
        assert (found["pid"], found["client"], found["config"]) == (client.pid, CLIENT, [str(config)])
        servers = {server["server"]: server for server in found["servers"]}
        assert (servers["s"]["state"], servers["s"]["calls"], servers["s"]["errors"]) == ("ready", 2, 1)
        assert servers["bad"]["state"] == "waiting"
        assert servers["o"]["since"] is None
        done = await run("status", cwd=tmp_path, env=state(tmp_path))
        assert f"some-client 1.2, process {client.pid}, for" in done.out
        assert "1 server not started" in done.out
    assert await status(tmp_path) == []
    assert (await run("status", cwd=tmp_path, env=state(tmp_path))).out.startswith("No workbench is running")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
async def test_a_workbench_that_was_killed_is_not_shown(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"dev": {"s": scripted()}})
    async with WireClient.spawn(workbench(config), env=state(tmp_path), leaves_nothing=False) as client:
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        await until_described(tmp_path, state="ready")
        client.process.kill()
        await client.process.wait()
    assert await status(tmp_path) == []


@pytest.mark.parametrize("what", ["a file in its place", "no permission", "a full disk"])
async def test_a_log_that_cannot_be_written_is_one_warning_and_no_failure(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "state" / "mcp-workbench"
    if what == "a file in its place":
        folder.parent.mkdir()
        folder.write_text("x")
    elif what == "no permission":
        if os.geteuid() == 0:
            pytest.skip("root may write everywhere")
        folder.mkdir(parents=True, mode=0o500)
    else:
        folder.mkdir(parents=True)
        (folder / "log.jsonl").symlink_to("/dev/full")
    config = write_config(tmp_path, {"dev": {"s": scripted()}})
    async with WireClient.spawn(workbench(config), env=state(tmp_path)) as client:
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        with anyio.fail_after(90):
            await eventually(lambda: "cannot be kept up to date" in client.stderr)
        for _ in range(3):
            result = await client.call_tool("use_tool", tool("echo", text="a"))
            assert "isError" not in result
    assert client.returncode == 0
    assert client.stderr.count("cannot be kept up to date") == 1
