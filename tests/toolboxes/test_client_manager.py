"""Toolboxes and the servers behind them: what opening starts, shares and retries, and what bad servers break."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from serving import names, opened, refusal, serving, used, using
from wire import Era, Json, logged, read_log, scripted, text_of

pytestmark = pytest.mark.anyio

both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])


# Opening again, and at the same time.


@both_eras
async def test_an_open_toolbox_shows_what_it_has_and_starts_nothing(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log))}}, era) as client:
        first = await opened(client, "dev")
        pid = text_of(await used(client, "dev", "one", "pid"))
        second = await opened(client, "dev")
        assert text_of(await used(client, "dev", "one", "pid")) == pid
    assert first == second
    assert len(read_log(log, event="start")) == 1
    asked = [event["message"].get("method") for event in read_log(log, event="received")]
    assert asked.count("tools/list") == 1


@both_eras
async def test_opens_at_the_same_time_share_one_attempt(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log), slow_start=0.2)}}, era) as client:
        handles = [await client.start_call("open_toolbox", {"toolbox_name": "dev"}) for _ in range(5)]
        listings = [text_of(await handle.wait()) for handle in handles]
    assert len(set(listings)) == 1
    assert len(read_log(log, event="start")) == 1


@both_eras
async def test_opening_again_retries_only_what_failed(tmp_path: Path, era: Era) -> None:
    works, broken, obstacle = tmp_path / "works", tmp_path / "broken", tmp_path / "obstacle"
    obstacle.touch()
    servers = {"works": scripted(log=str(works)), "broken": scripted(log=str(broken), fail_file=str(obstacle))}
    async with serving(tmp_path, {"dev": servers}, era) as client:
        first = await opened(client, "dev")
        obstacle.unlink()
        second = await opened(client, "dev")
    assert (first["servers_connected"], len(first["_errors"])) == (1, 1)
    assert second["servers_connected"] == 2
    assert "_errors" not in second
    assert len(read_log(works, event="start")) == 1


@both_eras
async def test_a_toolbox_that_failed_altogether_opens_once_the_cause_is_gone(tmp_path: Path, era: Era) -> None:
    obstacle = tmp_path / "obstacle"
    obstacle.touch()
    async with serving(tmp_path, {"dev": {"one": scripted(fail_file=str(obstacle))}}, era) as client:
        refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
        obstacle.unlink()
        assert (await opened(client, "dev"))["servers_connected"] == 1


@both_eras
async def test_a_cancelled_open_takes_nothing_from_the_next_one(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log), slow_start=0.5)}}, era) as client:
        unwanted = await client.start_call("open_toolbox", {"toolbox_name": "dev"})
        await logged(log, event="start")
        await unwanted.cancel()
        assert (await opened(client, "dev"))["servers_connected"] == 1
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"


@both_eras
async def test_a_server_that_died_is_started_again_by_opening_the_toolbox(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log))}}, era) as client:
        await opened(client, "dev")
        refusal(await used(client, "dev", "one", "crash"))
        assert (await opened(client, "dev"))["servers_connected"] == 1
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert len(read_log(log, event="start")) == 2
    assert len(read_log(log, event="executed", tool="crash")) == 1


async def test_the_same_server_twice_is_two_processes_with_tools_of_their_own(tmp_path: Path) -> None:
    toolboxes: Json = {"a": {"one": scripted(), "two": scripted()}, "b": {"one": scripted()}}
    async with serving(tmp_path, toolboxes) as client:
        for toolbox in toolboxes:
            await opened(client, toolbox)
        places = (("a", "one"), ("a", "two"), ("b", "one"))
        pids = {text_of(await used(client, toolbox, server, "pid")) for toolbox, server in places}
    assert len(pids) == 3


# Servers of every kind.


@both_eras
@pytest.mark.parametrize("kind", ["legacy-exits", "legacy-silent"])
async def test_older_servers_that_do_not_know_the_first_question_connect_all_the_same(
    tmp_path: Path, era: Era, kind: str
) -> None:
    async with serving(tmp_path, {"dev": {"one": scripted(era=kind)}}, era) as client:
        listing = await opened(client, "dev")
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert listing["servers_connected"] == 1
    assert "_errors" not in listing


@pytest.mark.parametrize("downstream", ["legacy", "modern"])
async def test_unusual_tool_lists(tmp_path: Path, downstream: str) -> None:
    def server(**options: Any) -> Json:
        return scripted(era=downstream, **options)

    nameless = {"tools": [{"name": "good", "inputSchema": {"type": "object"}}, {"title": "no name"}, 5]}
    servers = {
        "without": server(no_tools=True),
        "empty": server(tools=[]),
        "paged": server(pages=1, tools=[{"name": f"t{number}", "inputSchema": {}} for number in range(40)]),
        "endless": server(endless_pages=True),
        "circular": server(repeat_cursor=True),
        "sloppy": server(result_on={"tools/list": nameless}),
        "absurd": server(result_on={"tools/list": {"tools": "many"}}),
        "noisy": server(stdout_noise=["Starting up...", "", "[1]", '{"half":'], tools=[{"name": "n"}]),
    }
    async with serving(tmp_path, {"dev": servers}) as client:
        listing = await opened(client, "dev")
    of = {server: [tool["name"] for tool in listing["tools"] if tool["source_server"] == server] for server in servers}
    nothing: dict[str, list[str]] = {server: [] for server in servers}
    assert of == {
        **nothing,
        "paged": [f"t{number}" for number in range(40)],
        "sloppy": ["good"],
        "noisy": ["n"],
    }
    reasons = [error.partition("': ")[0].split("'")[1] for error in listing["_errors"]]
    assert reasons == ["endless", "circular", "absurd"]
    assert listing["servers_connected"] == 5


@both_eras
async def test_one_bad_answer_fails_one_call_with_a_sentence_and_the_connection_lives(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    begins = "Error executing tool '{}' in server 'one' (toolbox 'dev'): "
    async with serving(tmp_path, {"dev": {"one": scripted(era=era, log=str(log))}}, era) as client:
        await opened(client, "dev")
        for tool, arguments in (
            ("raw", {"result": 5}),
            ("raw", {"result": ["text"]}),
            ("raw", {"result": None}),
        ):
            sentence = refusal(await used(client, "dev", "one", tool, arguments))
            assert sentence.startswith(begins.format(tool))
            assert len(sentence) > len(begins.format(tool)) + 10
        assert text_of(await used(client, "dev", "one", "double")) == "first"
        noise = await used(client, "dev", "one", "raw_line", {"line": "not json", "then_answer": True})
        assert text_of(noise) == "answered"
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert len(read_log(log, event="start")) == 1


@both_eras
async def test_a_slow_server_holds_up_no_other_calls(tmp_path: Path, era: Era) -> None:
    gate = tmp_path / "gate"
    toolboxes: Json = {"dev": {"one": scripted(), "two": scripted()}, "ops": {"slow": scripted(hang_at_start=True)}}
    toolboxes["ops"]["slow"]["connectTimeout"] = 3
    async with serving(tmp_path, toolboxes, era) as client:
        opening = await client.start_call("open_toolbox", {"toolbox_name": "ops"})
        await opened(client, "dev")
        waiting = await client.start_call("use_tool", using("dev", "one", "slow", {"file": str(gate)}))
        assert text_of(await used(client, "dev", "two", "echo")) == "{}"
        assert not waiting.done
        assert not opening.done
        gate.touch()
        await waiting.wait()
        assert "no answer to initialize within 3 s" in refusal(await opening.wait())


@both_eras
async def test_fifty_calls_in_flight_get_each_its_own_answer(tmp_path: Path, era: Era) -> None:
    async with serving(tmp_path, {"dev": {"one": scripted(era=era)}}, era) as client:
        await opened(client, "dev")
        handles = [await client.start_call("use_tool", using("dev", "one", "echo", {"n": n})) for n in range(50)]
        said = [json.loads(text_of(await handle.wait()))["n"] for handle in handles]
    assert said == list(range(50))


@both_eras
async def test_a_crash_fails_every_call_under_way_at_once(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(era=era, log=str(log))}}, era) as client:
        await opened(client, "dev")
        waiting = [await client.start_call("use_tool", using("dev", "one", "hang")) for _ in range(3)]
        await logged(log, event="executed", count=3, tool="hang")
        crash = await used(client, "dev", "one", "crash", {"status": 4, "stderr": "out of memory\n"})
        said = [refusal(result) for result in [crash, *[await handle.wait() for handle in waiting]]]
    for sentence in said:
        assert "exited with status 4" in sentence
        assert "out of memory" in sentence
    assert len(read_log(log, event="executed", tool="hang")) == 3


async def test_stderr_without_end_blocks_neither_the_server_nor_the_workbench(tmp_path: Path) -> None:
    servers = {"loud": scripted(stderr_flood=2_000_000), "quiet": scripted()}
    async with serving(tmp_path, {"dev": servers}) as client:
        assert (await opened(client, "dev"))["servers_connected"] == 2
        with anyio.fail_after(20):
            assert text_of(await used(client, "dev", "loud", "echo")) == "{}"
    assert len(client.stderr) < 100_000


async def test_tools_that_a_server_adds_and_removes_are_followed(tmp_path: Path) -> None:
    async with serving(tmp_path, {"dev": {"one": scripted()}}) as client:
        before = names(await opened(client, "dev"))
        await used(client, "dev", "one", "change_tools", {"name": "fresh"})
        assert names(await opened(client, "dev")) == [*before, "fresh"]
        assert text_of(await used(client, "dev", "one", "fresh", {"a": 1})) == '{"a": 1}'
