"""The workbench as its client meets it: the real program, over real stdio, in both protocol eras."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

import mcp_workbench
from serving import names, opened, refusal, serving, used, using
from wire import Era, Json, RpcError, WireClient, children_of, eventually, logged, read_log, scripted, text_of

pytestmark = pytest.mark.anyio

both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])
ODD_NAME = "we__ird-na.me/with spaces é"
LIMIT = 2048


# Who it is.


@both_eras
async def test_the_handshake_names_the_workbench_and_offers_tools_and_log_messages(tmp_path: Path, era: Era) -> None:
    async with serving(tmp_path, {"dev": {"one": scripted()}}, era) as client:
        pass
    assert client.server_info["name"] == "mcp-workbench"
    assert client.server_info["version"] == mcp_workbench.__version__
    assert client.handshake["capabilities"] == {"tools": {}, "logging": {}}
    assert client.instructions is not None
    assert "- dev (1 server): The dev toolbox" in client.instructions
    assert client.notifications == []


@both_eras
async def test_exactly_two_tools_are_listed_with_closed_and_explained_schemas(tmp_path: Path, era: Era) -> None:
    async with serving(tmp_path, {"dev": {}, "ops": {}}, era) as client:
        listing = await client.request("tools/list")
    tools = {tool["name"]: tool for tool in listing["tools"]}
    assert list(tools) == ["open_toolbox", "use_tool"]
    assert "nextCursor" not in listing
    assert "`dev`, `ops`" in tools["open_toolbox"]["description"]
    assert tools["open_toolbox"]["annotations"]["readOnlyHint"] is True
    assert "annotations" in tools["use_tool"]
    for tool in tools.values():
        assert tool["_meta"] == {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": 500_000}
    for tool in tools.values():
        assert "$ref" not in json.dumps(tool["inputSchema"])
        assert "outputSchema" not in tool
        assert_closed_and_explained(tool["inputSchema"])
    assert tools["open_toolbox"]["inputSchema"]["required"] == ["toolbox_name"]
    assert tools["use_tool"]["inputSchema"]["required"] == ["tool"]
    assert tools["use_tool"]["inputSchema"]["properties"]["tool"]["required"] == ["toolbox", "server", "tool"]


def assert_closed_and_explained(schema: Json) -> None:
    """Every object that lists its properties admits no others, and each of them says what it is."""
    assert schema["additionalProperties"] is False
    for field in cast("list[Json]", list(schema["properties"].values())):
        assert field["description"].strip()
        if "properties" in field:
            assert_closed_and_explained(field)


@both_eras
async def test_five_hundred_toolboxes_fit_into_what_clients_show(tmp_path: Path, era: Era) -> None:
    many: Json = {f"toolbox-{number}": {} for number in range(500)}
    async with serving(tmp_path, many, era) as client:
        tools = (await client.request("tools/list"))["tools"]
        assert (await opened(client, "toolbox-499"))["tools"] == []
    assert len(client.instructions or "") <= LIMIT
    assert all(len(tool["description"]) <= LIMIT for tool in tools)


# Opening.


@both_eras
async def test_nothing_starts_before_a_toolbox_is_opened(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log))}}, era) as client:
        await client.request("tools/list")
        assert (read_log(log), children_of(client.pid)) == ([], [])
        await opened(client, "dev")
        assert len(children_of(client.pid)) == 1


@both_eras
@pytest.mark.parametrize("downstream", ["legacy", "modern", "dual"])
async def test_open_toolbox_lists_every_servers_tools_as_compact_json(
    tmp_path: Path, era: Era, downstream: str
) -> None:
    servers = {"zeta": scripted(era=downstream), "alpha": scripted(era=downstream, pages=1, slow_start=0.1)}
    async with serving(tmp_path, {"dev": servers}, era) as client:
        result = await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
    text = text_of(result)
    listing: Json = json.loads(text)
    assert set(result) <= {"content", "resultType"}
    assert result.get("resultType") == ("complete" if era == "modern" else None)
    assert text == json.dumps(listing, ensure_ascii=False, separators=(",", ":"))
    assert list(listing) == ["toolbox", "description", "servers_connected", "tools"]
    assert (listing["toolbox"], listing["description"], listing["servers_connected"]) == ("dev", "The dev toolbox", 2)
    of = {server: [tool["name"] for tool in listing["tools"] if tool["source_server"] == server] for server in servers}
    assert of["zeta"] == of["alpha"] == [tool["name"] for tool in standard_tools()]
    assert [tool["source_server"] for tool in listing["tools"]] == ["zeta"] * len(of["zeta"]) + ["alpha"] * len(
        of["alpha"]
    )
    assert {tool["toolbox_name"] for tool in listing["tools"]} == {"dev"}


def standard_tools() -> list[Json]:
    """The tools of a scripted server, asked without a workbench in between."""
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    entry = scripted()
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[1])["result"]["tools"]


@both_eras
async def test_what_a_model_needs_of_a_tool_is_passed_on_exactly_and_no_more(tmp_path: Path, era: Era) -> None:
    async with serving(tmp_path, {"dev": {"one": scripted(era=era)}}, era) as client:
        listing = await opened(client, "dev")
    assert listing["tools"] == [
        {
            "name": tool["name"],
            "toolbox_name": "dev",
            "source_server": "one",
            "description": tool["description"],
            "inputSchema": tool["inputSchema"],
        }
        for tool in standard_tools()
    ]
    assert listing["tools"][0]["inputSchema"]["x-unknown-keyword"] == [1, 2.5, {"deep": True}]


@both_eras
async def test_filters_decide_which_tools_there_are(tmp_path: Path, era: Era) -> None:
    filters: dict[str, Any] = {
        "none": [], "star": ["*"], "named": ["pid", "echo", "absent"], "both": ["echo", "*"], "odd": [ODD_NAME],
    }  # fmt: skip
    servers = {name: scripted() | {"toolFilters": names} for name, names in filters.items()}
    async with serving(tmp_path, {"dev": servers | {"absent": scripted()}}, era) as client:
        listing = await opened(client, "dev")
        hidden = refusal(await used(client, "dev", "named", "add", {"a": 1, "b": 1}))
        shown = await used(client, "dev", "named", "echo", {"a": 1})
    of: dict[str, list[str]] = {name: [] for name in [*servers, "absent"]}
    for tool in listing["tools"]:
        of[tool["source_server"]].append(tool["name"])
    every = of["absent"]
    assert len(every) > 20
    assert of == {
        "none": [],
        "star": every,
        "named": ["echo", "pid"],
        "both": every,
        "odd": [ODD_NAME],
        "absent": every,
    }
    assert hidden.startswith("Tool 'add' not found in server 'named' (toolbox 'dev')")
    assert text_of(shown) == '{"a": 1}'


@both_eras
async def test_a_toolbox_without_servers_opens_with_nothing_in_it(tmp_path: Path, era: Era) -> None:
    async with serving(tmp_path, {"dev": {}}, era) as client:
        listing = await opened(client, "dev")
    assert listing == {"toolbox": "dev", "description": "The dev toolbox", "servers_connected": 0, "tools": []}


@both_eras
async def test_broken_servers_are_named_beside_the_tools_of_the_others(tmp_path: Path, era: Era) -> None:
    servers = {
        "dies": scripted(exit_at_start=7, stderr_at_start="cannot reach the moon\n"),
        "works": scripted(),
        "absent": {"command": "no-such-command-anywhere"},
        "mute": scripted(hang_at_start=True) | {"connectTimeout": 0.5},
        "refuses": scripted(error_on={"tools/list": {"code": -32000, "message": "closed on Sundays"}}),
    }
    async with serving(tmp_path, {"dev": servers}, era) as client:
        listing = await opened(client, "dev")
        result = await used(client, "dev", "works", "echo", {"still": "here"})
    assert listing["servers_connected"] == 1
    assert {tool["source_server"] for tool in listing["tools"]} == {"works"}
    assert text_of(result) == '{"still": "here"}'
    dies, absent, mute, refuses = listing["_errors"]
    assert dies.startswith(
        "Failed to connect to server 'dies' in toolbox 'dev': exited with status 7 before it was ready"
    )
    assert "cannot reach the moon" in dies
    assert absent.startswith(
        "Failed to connect to server 'absent' in toolbox 'dev': command not found: 'no-such-command-anywhere'"
    )
    assert "PATH" in absent
    assert mute.startswith("Failed to connect to server 'mute' in toolbox 'dev': no answer to initialize within 0.5 s")
    assert refuses.startswith("Failed to connect to server 'refuses' in toolbox 'dev': ")
    assert "closed on Sundays" in refuses


@both_eras
async def test_when_every_server_fails_the_error_has_every_reason(tmp_path: Path, era: Era) -> None:
    servers = {"first": scripted(exit_at_start=1), "second": {"command": "no-such-command-anywhere"}}
    async with serving(tmp_path, {"dev": servers}, era) as client:
        sentence = refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
        then = refusal(await used(client, "dev", "first", "echo"))
    first, second = (line for line in sentence.splitlines() if line.startswith("Failed to connect"))
    assert first.startswith("Failed to connect to server 'first' in toolbox 'dev': exited with status 1")
    assert second.startswith("Failed to connect to server 'second' in toolbox 'dev': command not found")
    assert then.startswith("Toolbox 'dev' is not open")


# Using.


@both_eras
async def test_every_mistake_gets_its_own_sentence(tmp_path: Path, era: Era) -> None:
    toolboxes: Json = {"dev": {"filesystem": scripted()}, "closed": {"one": scripted()}}
    tool = {"toolbox": "dev", "server": "filesystem", "tool": "echo"}
    no_server = {"toolbox": "dev", "tool": "echo"}
    rows: list[tuple[str, Json, str]] = [
        ("open_toolbox", {"toolbox_name": "production"}, "Toolbox 'production' not found in configuration"),
        ("open_toolbox", {"toolbox_name": "DEV"}, "Toolbox 'DEV' not found in configuration"),
        ("open_toolbox", {"toolbox_name": ""}, "Invalid parameters: toolbox_name cannot be empty"),
        ("open_toolbox", {"toolbox_name": "  "}, "Invalid parameters: toolbox_name cannot be empty"),
        ("open_toolbox", {"toolbox_name": "dev", "extra": 1}, "Invalid parameters: Unrecognized key: 'extra'"),
        ("open_toolbox", {}, "Invalid parameters: toolbox_name is required"),
        ("open_toolbox", {"toolbox_name": 3}, "Invalid parameters: toolbox_name must be a string"),
        ("use_tool", {"tool": tool, "extra_field": 1}, "Invalid parameters: Unrecognized key: 'extra_field'"),
        ("use_tool", {"tool": {**tool, "extra_field": 1}}, "Invalid parameters: Unrecognized key: 'extra_field'"),
        ("use_tool", {"arguments": {}}, "Invalid parameters: tool is required"),
        ("use_tool", {"tool": tool, "arguments": [1]}, "Invalid parameters: arguments must be an object"),
        ("use_tool", {"tool": 5}, "Invalid parameters: tool must be an object"),
        ("use_tool", {"tool": {**tool, "server": ""}}, "Invalid tool identifier: server cannot be empty"),
        ("use_tool", {"tool": no_server}, "Invalid tool identifier: server is required"),
        ("use_tool", using("production", "filesystem", "echo"), "Toolbox 'production' not found"),
        ("use_tool", using("closed", "one", "echo"), "Toolbox 'closed' is not open"),
        ("use_tool", using("dev", "database", "echo"), "Server 'database' not found in toolbox 'dev'"),
        (
            "use_tool",
            using("dev", "filesystem", "delete_all"),
            "Tool 'delete_all' not found in server 'filesystem' (toolbox 'dev')",
        ),
        ("use_tool", using("dev", "filesystem", "ECHO"), "Tool 'ECHO' not found in server 'filesystem'"),
        (
            "use_tool",
            using("dev", "filesystem", "error", {"code": -32050, "message": "disk full"}),
            "Error executing tool 'error' in server 'filesystem' (toolbox 'dev'): disk full",
        ),
        (
            "use_tool",
            using("dev", "filesystem", "crash", {"status": 9, "stderr": "goodbye\n"}),
            "Error executing tool 'crash' in server 'filesystem' (toolbox 'dev'): exited with status 9",
        ),
    ]  # fmt: skip
    async with serving(tmp_path, toolboxes, era) as client:
        await opened(client, "dev")
        said = [refusal(await client.call_tool(tool, arguments)) for tool, arguments, _ in rows]
    assert [sentence[: len(row[2])] for sentence, row in zip(said, rows, strict=True)] == [row[2] for row in rows]
    by_sentence = dict(zip((row[2] for row in rows), said, strict=True))
    assert '{"toolbox_name":"closed"}' in by_sentence["Toolbox 'closed' is not open"]
    assert "'dev'" in by_sentence["Toolbox 'production' not found"]
    assert "goodbye" in said[-1]
    assert not any("Traceback" in sentence or "TaskGroup" in sentence for sentence in said)


@both_eras
async def test_a_call_that_takes_longer_than_it_may_is_given_up(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    servers = {"one": scripted(era=era, log=str(log)) | {"callTimeout": 0.3}}
    async with serving(tmp_path, {"dev": servers}, era) as client:
        await opened(client, "dev")
        sentence = refusal(await used(client, "dev", "one", "slow"))
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert sentence.startswith("Error executing tool 'slow' in server 'one' (toolbox 'dev'): no answer within 0.3 s")
    assert read_log(log, event="cancelled", tool="slow")


@both_eras
@pytest.mark.parametrize("downstream", ["legacy", "modern"])
async def test_results_come_back_as_the_server_gave_them(tmp_path: Path, era: Era, downstream: str) -> None:
    results: list[Json] = [
        {"content": []},
        {"content": [{"type": "text", "text": "x", "annotations": {"priority": 0.5, "new": True}, "later": [1]}]},
        {"content": [{"type": "hologram", "depth": 3}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]},
        {"content": [], "structuredContent": {"sum": 1.0, "n": None}},
        {"content": [], "structuredContent": [1, 2]},
        {"content": [], "structuredContent": 7},
        {"content": [], "structuredContent": None},
        {"content": [], "isError": True, "_meta": {"example.com/cost": 3}},
        {"content": [], "isError": False, "unheard": {"of": "😀"}},
        {"_meta": {}},
        {"content": [{"type": "text", "text": "half \ud83d an emoji, \u2028, \u0000 and é"}]},
        {"content": [{"type": "text", "text": "big"}], "n": 123456789012345678901234567890},
    ]
    # A modern result says of itself that it is complete; the tool returns it as it is told.
    given = [{**result, "resultType": "complete"} if downstream == "modern" else result for result in results]
    expected = [{**result, "resultType": "complete"} if era == "modern" else result for result in results]
    async with serving(tmp_path, {"dev": {"one": scripted(era=downstream)}}, era) as client:
        await opened(client, "dev")
        received = [await used(client, "dev", "one", "raw", {"result": result}) for result in given]
    for got, wanted in zip(received, expected, strict=True):
        assert json.dumps(got) == json.dumps(wanted)


@both_eras
async def test_a_result_that_belies_its_output_schema_is_not_judged(tmp_path: Path, era: Era) -> None:
    raw: Json = {
        "name": "raw",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "string", "required": ["x"]},
    }
    result: Json = {"content": [{"type": "text", "text": "no"}], "structuredContent": {"y": 1}}
    async with serving(tmp_path, {"dev": {"one": scripted(tools=[raw])}}, era) as client:
        await opened(client, "dev")
        received = await used(client, "dev", "one", "raw", {"result": result})
    assert {key: received[key] for key in result} == result
    assert "isError" not in received


@both_eras
async def test_the_tools_own_failure_is_a_result_like_any_other(tmp_path: Path, era: Era) -> None:
    async with serving(tmp_path, {"dev": {"one": scripted()}}, era) as client:
        await opened(client, "dev")
        result = await used(client, "dev", "one", "fail", {"text": "no such row"})
    assert result["isError"] is True
    assert text_of(result) == "no such row"


@both_eras
async def test_objects_may_be_sent_as_text_and_arguments_left_out(tmp_path: Path, era: Era) -> None:
    tool = {"toolbox": "dev", "server": "one", "tool": "echo"}
    async with serving(tmp_path, {"dev": {"one": scripted()}}, era) as client:
        await opened(client, "dev")
        calls: list[Json] = [
            {"tool": tool},
            {"tool": json.dumps(tool), "arguments": '{"path": "/tmp", "n": [1, null]}'},
            {"tool": tool, "arguments": {"nested": '{"not": "decoded"}'}},
        ]
        said = [json.loads(text_of(await client.call_tool("use_tool", call))) for call in calls]
    assert said == [{}, {"path": "/tmp", "n": [1, None]}, {"nested": '{"not": "decoded"}'}]


@both_eras
async def test_a_tool_may_have_any_name(tmp_path: Path, era: Era) -> None:
    odd = [ODD_NAME, "a b", "__init__", "工具/😀", "dev", "use_tool", "'quoted\"", "a\nb", " padded "]
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in odd]
    async with serving(tmp_path, {"dev": {"one": scripted(tools=tools)}}, era) as client:
        listing = await opened(client, "dev")
        said = [text_of(await used(client, "dev", "one", name, {"name": name})) for name in odd]
    assert names(listing) == odd
    assert [json.loads(text)["name"] for text in said] == odd


@both_eras
async def test_five_megabytes_pass_in_both_directions(tmp_path: Path, era: Era) -> None:
    text = "é" * 2_500_000
    async with serving(tmp_path, {"dev": {"one": scripted(era=era)}}, era) as client:
        await opened(client, "dev")
        back = json.loads(text_of(await used(client, "dev", "one", "echo", {"text": text})))
        big = text_of(await used(client, "dev", "one", "big", {"n": 5_000_000}))
    assert back == {"text": text}
    assert big == "x" * 5_000_000


@both_eras
async def test_calls_to_one_server_run_at_the_same_time(tmp_path: Path, era: Era) -> None:
    gate = tmp_path / "gate"
    async with serving(tmp_path, {"dev": {"one": scripted(era=era)}}, era) as client:
        await opened(client, "dev")
        waiting = await client.start_call("use_tool", using("dev", "one", "slow", {"file": str(gate)}))
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
        assert not waiting.done
        gate.touch()
        assert text_of(await waiting.wait()) == "waited"


# Bad input on the workbench's own stdin.


@both_eras
async def test_junk_on_stdin_is_ignored_or_answered_and_never_the_end(tmp_path: Path, era: Era) -> None:
    junk: list[bytes] = [
        b"", b"   ", b"hello", b"[]", b"null", b"42", b'"text"', b"{", b"\xff\xfe\x00", b"[" * 50_000, b"{}",
        b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","method":5}', b'{"jsonrpc":"2.0","method":"notifications/unheard"}',
        b'{"jsonrpc":"2.0","id":999,"result":{}}', b'{"jsonrpc":"2.0","id":"q","error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":null,"result":5}', b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}',
        b'{"a":NaN}', b'{"jsonrpc":"1.0","method":"ping"}', b"GET / HTTP/1.1\r",
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}', b'{"jsonrpc":"2.0","id":true,"error":5}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    ]  # fmt: skip
    async with serving(tmp_path, {"dev": {"one": scripted()}}, era) as client:
        for line in junk:
            await client.send_raw(line)
        await opened(client, "dev")
        for line in junk:
            await client.send_raw(line)
        assert text_of(await used(client, "dev", "one", "echo")) == "{}"
    assert all(message.get("jsonrpc") == "2.0" for message in client.received)


@both_eras
async def test_broken_requests_are_answered_with_an_error(tmp_path: Path, era: Era) -> None:
    async with serving(tmp_path, {"dev": {}}, era) as client:
        await client.send_raw(b'{"jsonrpc":"2.0","id":"no-method","method":7}')
        await client.send_raw(b'{"jsonrpc":"2.0","id":"bad-params","method":"tools/list","params":[1]}')
        await client.request("tools/list")
    errors = {message["id"]: message["error"]["code"] for message in client.strays}
    assert errors.keys() == {"no-method", "bad-params"}
    assert all(code in (-32600, -32602) for code in errors.values())


@both_eras
async def test_a_request_whose_id_is_a_text_is_not_the_one_whose_id_is_that_number(tmp_path: Path, era: Era) -> None:
    gate, log = tmp_path / "gate", tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log))}}, era) as client:
        await opened(client, "dev")
        await (await client.start_call("use_tool", using("dev", "one", "slow", {"seconds": 0}))).wait()
        call = client.sent[-1]
        call["params"]["arguments"]["arguments"] = {"file": str(gate)}
        await client.send({**call, "id": 900})
        await client.send({**call, "id": "900"})
        await logged(log, event="executed", count=3)
        await client.notify("notifications/cancelled", {"requestId": "900"})
        await logged(log, event="cancelled")
        gate.touch()
        with anyio.fail_after(client.patience):
            await eventually(lambda: bool(client.strays))
    assert [message["id"] for message in client.strays] == [900]


@both_eras
async def test_a_call_without_an_id_is_no_request_and_runs_nothing(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, {"dev": {"one": scripted(log=str(log))}}, era) as client:
        await opened(client, "dev")
        call = await client.start_call("use_tool", using("dev", "one", "echo", {"token": "first"}))
        await call.wait()
        unasked = {key: value for key, value in client.sent[-1].items() if key != "id"}
        await client.send(unasked)
        await used(client, "dev", "one", "echo", {"token": "last"})
    assert [event["token"] for event in read_log(log, event="executed")] == ["first", "last"]


async def test_a_meta_that_is_no_object_is_no_meta(tmp_path: Path) -> None:
    async with serving(tmp_path, {"dev": {"one": scripted()}}) as client:
        await opened(client, "dev")
        for meta in ("text", [1], 5):
            params = {"name": "use_tool", "arguments": using("dev", "one", "meta"), "_meta": meta}
            assert text_of(await client.request("tools/call", params)) == "{}"


@both_eras
async def test_an_unknown_method_is_refused_and_an_unknown_tool_is_an_error(tmp_path: Path, era: Era) -> None:
    async with serving(tmp_path, {"dev": {}}, era) as client:
        with pytest.raises(RpcError) as error:
            await client.request("no/such/method")
        complaint = await outcome(client, {"name": "no_such_tool", "arguments": {}})
        assert (await opened(client, "dev"))["tools"] == []
    assert error.value.code == -32601
    assert "no_such_tool" in complaint


@both_eras
async def test_a_call_of_the_wrong_shape_is_refused_with_a_sentence(tmp_path: Path, era: Era) -> None:
    broken: list[Json] = [
        {},
        {"name": None},
        {"name": 5},
        {"name": ["use_tool"], "arguments": {}},
        {"name": "use_tool", "arguments": [1, 2]},
        {"name": "use_tool", "arguments": "text"},
        {"name": "open_toolbox", "arguments": 7},
        {"name": "open_toolbox", "arguments": {"toolbox_name": {"a": 1}}},
        {"name": "use_tool", "arguments": {"tool": "x" * 5_000_000}},
    ]
    async with serving(tmp_path, {"dev": {}}, era) as client:
        complaints = [await outcome(client, params) for params in broken]
        assert (await opened(client, "dev"))["servers_connected"] == 0
    assert all(complaint and "Traceback" not in complaint for complaint in complaints)
    assert all(len(complaint) < 1000 for complaint in complaints)


async def outcome(client: WireClient, params: Json) -> str:
    """What a call that cannot succeed is told, in whichever way."""
    try:
        return refusal(await client.request("tools/call", params))
    except RpcError as error:
        return error.message


# A config that cannot be used.


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcp_workbench", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", ["ends too early"]),
        ("[]", ["object"]),
        ("{}", ["toolboxes"]),
        ('{"toolboxes": {"dev": {"description": " ", "mcpServers": {"a": {}}}}}', ["description", "command"]),
        ('{"toolboxes": {}, "toolMode": "dynamic"}', ["dynamic mode is no longer supported", "toolMode"]),
        ('{"toolboxes": {"dev": {"description": "${NO_SUCH_VARIABLE_X}", "mcpServers": {}}}}', ["export NO_SUCH"]),
    ],
)
def test_a_config_that_cannot_be_used_ends_the_program_with_a_report(
    tmp_path: Path, content: str, words: list[str]
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content)
    done = run("--config", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert str(path) in done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert "Traceback" not in done.stderr


def test_a_config_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "absent.json"
    for done in (run("--config", str(path)), run(WORKBENCH_CONFIG=str(path))):
        assert (done.returncode, done.stdout) == (1, "")
        assert str(path) in done.stderr
        assert "Traceback" not in done.stderr


def test_the_old_name_of_the_only_mode_gets_a_note(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"toolboxes": {}, "toolMode": "proxy"}')
    done = run("--config", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert "toolMode" in done.stderr


@both_eras
async def test_the_config_may_be_named_by_the_environment(tmp_path: Path, era: Era) -> None:
    (tmp_path / "mine.json").write_text('{"toolboxes": {"mine": {"description": "Mine", "mcpServers": {}}}}')
    environment = {"WORKBENCH_CONFIG": str(tmp_path / "mine.json")}
    async with WireClient.spawn([sys.executable, "-m", "mcp_workbench"], env=environment, era=era) as client:
        assert (await opened(client, "mine"))["description"] == "Mine"
    assert client.returncode == 0
