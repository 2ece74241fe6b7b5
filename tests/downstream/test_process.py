"""Processes: how the workbench ends, what it leaves behind, what its servers inherit, and what it never writes."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plain_client import PlainClient
from serving import opened, refusal, serving, used, using
from wire import (
    PATIENCE,
    Era,
    Json,
    WireClient,
    assert_gone,
    logged,
    read_log,
    scripted,
    text_of,
    workbench,
    write_config,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups are POSIX"),
]

STUBBORN: Json = {"ignore_stdin_eof": True, "ignore_sigterm": True}
SHUTDOWN = 5.0


async def end(client: WireClient, how: str) -> int:
    """End the workbench; it has the five seconds that it promises, and some for a busy machine."""
    if how == "stdin":
        await client.close_stdin()
    else:
        client.signal(signal.Signals[how])
    return await client.wait_exit(within=2 * SHUTDOWN)


async def assert_all_gone(log: Path) -> None:
    pids = [event["pid"] for event in read_log(log) if event["event"] in ("start", "grandchild")]
    assert pids
    for pid in pids:
        await assert_gone(pid)


@pytest.mark.parametrize("how", ["stdin", "SIGINT", "SIGTERM", "SIGHUP"])
async def test_the_workbench_ends_with_every_kind_of_server_connected(tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"

    def server(**options: Any) -> Json:
        return scripted(log=str(log), **options)

    servers = {
        "ordinary": server(),
        "stubborn": server(**STUBBORN),
        "parent": server(grandchild=True),
        "stubborn-parent": server(grandchild="inherits", **STUBBORN),
        "modern": server(era="modern", **STUBBORN),
    }
    async with serving(tmp_path, {"dev": servers}) as client:
        await opened(client, "dev")
        await client.start_call("use_tool", using("dev", "ordinary", "hang"))
        await logged(log, event="executed", tool="hang")
        assert await end(client, how) == 0
    assert len(read_log(log, event="start")) >= 5
    assert len(read_log(log, event="grandchild")) >= 2
    await assert_all_gone(log)


async def test_a_hangup_that_whoever_started_us_ignores_ends_nothing(tmp_path: Path) -> None:
    command = ["nohup", *workbench(write_config(tmp_path, {"dev": {"one": scripted()}}))]
    async with WireClient.spawn(command) as client:
        client.signal(signal.SIGHUP)
        await opened(client, "dev")
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert client.returncode == 0


@pytest.mark.parametrize("how", ["stdin", "SIGINT", "SIGTERM"])
async def test_the_workbench_ends_while_servers_are_still_connecting(tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"
    servers = {
        "mute": scripted(hang_at_start=True, log=str(log)),
        "mute-and-stubborn": scripted(hang_at_start=True, ignore_sigterm=True, grandchild=True, log=str(log)),
    }
    async with serving(tmp_path, {"dev": servers}) as client:
        await client.start_call("open_toolbox", {"toolbox_name": "dev"})
        await logged(log, event="start", count=2)
        await logged(log, event="grandchild")
        assert await end(client, how) == 0
    await assert_all_gone(log)


async def test_servers_that_behave_end_when_the_workbench_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"dev": {"one": scripted(log=str(log)), "two": scripted(log=str(log))}})
    async with WireClient.spawn(workbench(config)) as client:
        await opened(client, "dev")
        client.signal(signal.SIGKILL)
        await client.wait_exit()
        await assert_all_gone(log)
    assert len(read_log(log, event="exit", why="stdin closed")) == 2


async def test_a_server_that_ends_leaves_no_grandchild(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log), grandchild=True)}}) as client:
        await opened(client, "dev")
        assert (await used(client, "dev", "one", "crash"))["isError"] is True
        await assert_all_gone(log)


# Ends that are disturbed.


@pytest.mark.parametrize("second", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("first", ["stdin", "SIGINT", "SIGTERM"])
async def test_a_signal_during_the_shutdown_changes_nothing(tmp_path: Path, first: str, second: str) -> None:
    log = tmp_path / "log"
    servers = {"stubborn": scripted(log=str(log), grandchild=True, **STUBBORN), "ordinary": scripted(log=str(log))}
    async with serving(tmp_path, {"dev": servers}) as client:
        await opened(client, "dev")
        if first == "stdin":
            await client.close_stdin()
        else:
            client.signal(signal.Signals[first])
        await logged(log, event="stdin closed")
        assert await end(client, second) == 0
    await assert_all_gone(log)


@pytest.mark.parametrize("how", ["stdin", "SIGINT", "SIGTERM"])
async def test_the_workbench_ends_while_a_question_waits_for_its_user(tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"
    servers = {"one": scripted(log=str(log), **STUBBORN)}
    async with serving(tmp_path, {"dev": servers}, "modern", capabilities={"elicitation": {}}) as client:
        await opened(client, "dev")
        assert (await used(client, "dev", "one", "ask"))["resultType"] == "input_required"
        assert await end(client, how) == 0
    await assert_all_gone(log)


@pytest.mark.parametrize("how", ["stdin", "SIGINT", "SIGTERM"])
async def test_the_workbench_ends_while_a_server_is_left_alone_after_failures(tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log), exit_at_start=1)}}) as client:
        said = [text_of(await client.call_tool("open_toolbox", {"toolbox_name": "dev"})) for _ in range(3)]
        assert "the next try is due in" in said[-1]
        assert await end(client, how) == 0
    await assert_all_gone(log)


# A client that is half gone.


async def test_a_client_that_never_reads_stderr_holds_nothing_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"dev": {"one": scripted(log=str(log))}})
    with PlainClient(config, "--log-level", "debug", stderr=subprocess.PIPE) as client:
        client.open("dev")
        for _ in range(5):
            assert text_of(client.use("dev", "one", "stderr", {"text": "a line of complaint\n" * 20_000})) == "written"
        client.close_stdin()
        assert client.process.wait(timeout=2 * SHUTDOWN) == 0
    await assert_all_gone(log)


async def test_a_client_that_reads_stderr_late_learns_how_much_it_missed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"dev": {"one": scripted(log=str(log))}})
    with PlainClient(config, "--log-level", "debug", stderr=subprocess.PIPE) as client:
        client.open("dev")
        client.use("dev", "one", "stderr", {"text": "a line of complaint\n" * 100_000})
        client.use("dev", "one", "echo")
        assert client.process.stderr is not None
        said = ""
        while sum(read_and_missed(said)) < 100_000:
            assert select.select([client.process.stderr], [], [], PATIENCE)[0], read_and_missed(said)
            said += os.read(client.process.stderr.fileno(), 1 << 20).decode()
        client.close_stdin()
        assert client.process.wait(timeout=2 * SHUTDOWN) == 0
    read, missed = read_and_missed(said)
    assert read > 0
    assert missed > 0
    await assert_all_gone(log)


def read_and_missed(said: str) -> tuple[int, int]:
    """How many lines came through, and how many are said not to have."""
    missed = re.findall(r"(\d+) log lines were dropped", said)
    return said.count("a line of complaint"), sum(map(int, missed))


async def test_a_client_that_closes_stderr_in_between_gets_its_answers(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"dev": {"one": scripted(log=str(log))}})
    with PlainClient(config, "--log-level", "debug", stderr=subprocess.PIPE) as client:
        client.open("dev")
        assert client.process.stderr is not None
        client.process.stderr.close()
        for _ in range(3):
            assert text_of(client.use("dev", "one", "stderr", {"text": "a line of complaint\n" * 100})) == "written"
        client.close_stdin()
        assert client.process.wait(timeout=2 * SHUTDOWN) == 0
    await assert_all_gone(log)


async def test_a_client_that_closed_stderr_gets_its_answers(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"dev": {"one": scripted(log=str(log))}})
    shell = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh"]
    async with WireClient.spawn([*shell, *workbench(config), "--log-level", "debug"]) as client:
        await opened(client, "dev")
        assert text_of(await used(client, "dev", "one", "stderr", {"text": "complaint\n"})) == "written"
        await used(client, "dev", "one", "crash")
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        if sys.platform == "linux":  # nothing of ours may have got the number that log lines are written to
            assert os.readlink(f"/proc/{client.pid}/fd/2") == os.devnull
    assert (client.returncode, client.noise, client.stderr) == (0, [], "")
    await assert_all_gone(log)


@pytest.mark.parametrize("how", ["stdin", "SIGTERM"])
async def test_a_client_that_closed_our_stdout_does_not_keep_the_workbench_from_ending(
    tmp_path: Path, how: str
) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"dev": {"one": scripted(log=str(log))}})
    with PlainClient(config) as client:
        client.open("dev")
        client.start_use("dev", "one", "hang")
        await logged(log, event="executed", tool="hang")
        client.close_stdout()
        for _ in range(3):
            client.start_use("dev", "one", "big", {"n": 3_000_000})
        await logged(log, event="executed", tool="big", count=3)
        if how == "SIGTERM":
            client.process.terminate()
        client.close_stdin()
        assert client.process.wait(timeout=2 * SHUTDOWN) == 0
    await assert_all_gone(log)


@pytest.mark.parametrize("how", ["stdin", "SIGTERM"])
async def test_a_client_that_stopped_reading_does_not_keep_the_workbench_from_ending(tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, {"dev": {"one": scripted(log=str(log), **STUBBORN)}})
    with PlainClient(config) as client:
        client.open("dev")
        for _ in range(5):
            client.start_use("dev", "one", "big", {"n": 3_000_000})
        await logged(log, event="executed", tool="big", count=5)
        if how == "SIGTERM":
            client.process.terminate()
        client.close_stdin()
        assert client.process.wait(timeout=2 * SHUTDOWN) == 0
    await assert_all_gone(log)


# Standard input and output of other kinds.


@pytest.mark.parametrize("kind", ["file", "/dev/null"])
def test_stdin_need_not_be_a_pipe(tmp_path: Path, kind: str) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    script = tmp_path / "input"
    script.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
    config = write_config(tmp_path, {"dev": {}})
    with open(script if kind == "file" else os.devnull, encoding="utf-8") as stdin:
        done = subprocess.run(workbench(config), stdin=stdin, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [(1, "mcp-workbench")] if kind == "file" else []
    assert [(answer["id"], answer["result"]["serverInfo"]["name"]) for answer in answers] == expected


# What a server inherits.


async def environment_of(client: WireClient, server: str) -> Json:
    return json.loads(text_of(await used(client, "dev", server, "env")))


async def test_a_server_gets_the_basics_and_its_own_variables_and_no_more(tmp_path: Path) -> None:
    servers = {
        "plain": scripted() | {"env": {"OWN": "mine", "PORT": 3000}},
        "other": scripted() | {"env": {"OTHER_SECRET": "${WB_TEST_SECRET}"}},
        "all": scripted() | {"inheritEnv": True},
        "some": scripted() | {"inheritEnv": ["WB_TEST_NAMED"]},
    }
    around = {
        "WB_TEST_SECRET": "s3cr3t-value", "WB_TEST_NAMED": "named", "HTTPS_PROXY": "http://proxy:1",
        "https_proxy": "http://proxy:2", "LC_ALL": "C.UTF-8", "TZ": "UTC", "TMPDIR": str(tmp_path),
        "SSL_CERT_FILE": "/certs", "NODE_EXTRA_CA_CERTS": "/more-certs",
    }  # fmt: skip
    async with serving(tmp_path, {"dev": servers}, env=around) as client:
        await opened(client, "dev")
        seen = {server: await environment_of(client, server) for server in servers}
    passed = {name: value for name, value in around.items() if not name.startswith("WB_TEST")}
    for environment in seen.values():
        assert passed.items() <= environment.items()
        assert environment["PATH"] == os.environ["PATH"]
    assert (seen["plain"]["OWN"], seen["plain"]["PORT"]) == ("mine", "3000")
    assert seen["other"]["OTHER_SECRET"] == "s3cr3t-value"
    assert seen["all"]["WB_TEST_SECRET"] == "s3cr3t-value"
    assert seen["some"]["WB_TEST_NAMED"] == "named"
    for server in ("plain", "some"):
        assert "s3cr3t-value" not in seen[server].values()
    for server in ("plain", "other"):
        assert "WB_TEST_NAMED" not in seen[server]
    assert not [name for name in seen["plain"] if name.startswith("WB_TEST")]


# Secrets.


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_no_secret_is_in_anything_that_the_workbench_writes(tmp_path: Path, era: Era) -> None:
    secrets = {
        f"WB_SECRET_{place}": f"hush-{place.lower()}-7f3a" for place in ("ARG", "ENV", "KEY", "CMD", "CWD", "PATH")
    }
    literal = "hush-literal-7f3a"
    says = "".join(f"failed with {value}\n" for value in [*secrets.values(), literal])
    fails = scripted(exit_at_start=1, stderr_at_start=says)
    fails["args"].append("--token=${WB_SECRET_ARG}")
    talks = scripted()
    talks["args"].append("${WB_SECRET_ARG}")
    servers = {
        "fails": fails | {"env": {"TOKEN": "${WB_SECRET_ENV}", "${WB_SECRET_KEY}": "x", "LITERAL": literal}},
        "absent": {"command": "/nowhere/${WB_SECRET_CMD}/server"},
        "unfound": {"command": "no-such-${WB_SECRET_CMD}", "env": {"PATH": "/bin:/opt/${WB_SECRET_PATH}"}},
        "lost": scripted() | {"cwd": "/nowhere/${WB_SECRET_CWD}"},
        "talks": talks | {"env": {"TOKEN": "${WB_SECRET_ENV}"}},
    }
    toolboxes: Json = {"dev": servers, "bad": {key: servers[key] for key in servers if key != "talks"}}
    async with serving(
        tmp_path, toolboxes, era, options=["--log-level", "debug"], env=secrets | {"PYTHONUTF8": "1"}
    ) as client:
        assert len((await opened(client, "dev"))["_errors"]) == 4
        await client.call_tool("open_toolbox", {"toolbox_name": "bad"})
        await used(client, "dev", "talks", "stderr", {"text": says})
        await used(client, "dev", "talks", "error", {"message": says})
        await used(client, "dev", "talks", "crash", {"stderr": says})
        await used(client, "dev", "fails", "echo")
    written = client.stderr + b"\n".join(client.stdout_lines).decode()
    assert "failed with ***" in client.stderr
    assert [secret for secret in [*secrets.values(), literal] if secret in written] == []


async def test_no_piece_of_a_secret_is_left_where_a_long_text_is_cut(tmp_path: Path) -> None:
    secret = "hush-" * 20
    servers = {"one": scripted() | {"env": {"TOKEN": secret}}}
    async with serving(tmp_path, {"dev": servers}, options=["--log-level", "debug"]) as client:
        await opened(client, "dev")
        for before in (50, 150, 250, 350, 3950):
            noise = {"line": "." * before + secret, "then_answer": True}
            await used(client, "dev", "one", "raw_line", noise)
            assert "hush" not in refusal(await used(client, "dev", "one", "crash", {"stderr": "." * before + secret}))
    assert "hush" not in client.stderr


async def test_what_a_tool_itself_returns_is_not_touched(tmp_path: Path) -> None:
    servers = {"one": scripted() | {"env": {"TOKEN": "hush-hush-hush"}}}
    async with serving(tmp_path, {"dev": servers}) as client:
        await opened(client, "dev")
        assert (await environment_of(client, "one"))["TOKEN"] == "hush-hush-hush"
