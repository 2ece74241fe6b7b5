"""`find_tools`: a third tool for people with many, only where the config asks for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.errors import InvalidParameters
from mcp_workbench.toolboxes.offers import Query
from mcp_workbench.upstream.parameters import parse_find_tools
from serving import opened, refusal, used
from terminal import run
from wire import Era, Json, RpcError, WireClient, read_log, scripted, text_of, workbench

pytestmark = pytest.mark.anyio


def tool(name: str, description: str) -> Json:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def configured(tmp_path: Path, toolboxes: Json, **settings: Any) -> Path:
    boxes = {name: {"description": f"The {name} toolbox", "mcpServers": box} for name, box in toolboxes.items()}
    path = tmp_path / "workbench-config.json"
    path.write_text(json.dumps({"toolboxes": boxes, **settings}), encoding="utf-8")
    return path


async def found(client: WireClient, query: str, **more: Any) -> Json:
    return json.loads(text_of(await client.call_tool("find_tools", {"query": query, **more})))


def names(answer: Json) -> list[str]:
    return [entry["name"] for entry in answer["tools"]]


MAIL = [tool("send_mail", "Sends a message"), tool("wipe_mail", "Deletes every message")]
FILES = [tool("read_file", "Returns what a file holds"), tool("send_file", "Sends a file")]


async def test_without_tool_search_there_are_two_tools(tmp_path: Path) -> None:
    config = configured(tmp_path, {"dev": {"one": scripted()}})
    async with WireClient.spawn(workbench(config)) as client:
        assert [own["name"] for own in (await client.request("tools/list"))["tools"]] == ["open_toolbox", "use_tool"]
        assert "find_tools" not in (client.instructions or "")
        try:
            answer = await client.call_tool("find_tools", {"query": "mail"})
        except RpcError:
            return
        assert answer["isError"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_ever_ran_is_found_without_starting_it_and_used_by_starting_it_alone(
    tmp_path: Path, era: Era
) -> None:
    logs = {name: tmp_path / name for name in ("mail", "files", "other")}
    servers = {
        "mail": scripted(log=str(logs["mail"]), tools=MAIL) | {"toolFilters": ["!wipe_*"]},
        "files": scripted(log=str(logs["files"]), tools=FILES),
    }
    toolboxes = {"dev": servers, "rest": {"other": scripted(log=str(logs["other"]))}}
    config = configured(tmp_path, toolboxes, toolSearch=True)
    async with WireClient.spawn(workbench(config), era=era) as client:
        assert len((await client.request("tools/list"))["tools"]) == 3
        assert (await found(client, "send"))["_not_searched"] == ["dev/mail", "dev/files", "rest/other"]
        assert not any(log.exists() for log in logs.values())
        await opened(client, "dev")
        assert names(await found(client, "send")) == ["send_mail", "send_file"]
    for log in logs.values():
        log.unlink(missing_ok=True)
    async with WireClient.spawn(workbench(config), era=era) as client:
        answer = await found(client, "sending a mail message", limit=1)
        assert answer == {
            "query": "sending a mail message",
            "tools": [{"name": "send_mail", "toolbox_name": "dev", "source_server": "mail"} | MAIL[0]],
            "_notes": ["The servers in _not_searched have not run yet; opening their toolbox makes them searchable."],
            "_not_searched": ["rest/other"],
        }
        assert names(await found(client, "delete every message")) == ["send_mail"]
        assert "_not_searched" not in await found(client, "send", toolbox_name="dev")
        assert not any(log.exists() for log in logs.values())
        assert text_of(await used(client, "dev", "mail", "send_mail")) == "{}"
        assert [name for name, log in logs.items() if read_log(log, event="start")] == ["mail"]


async def test_queries_that_lead_nowhere_get_a_sentence(tmp_path: Path) -> None:
    config = configured(tmp_path, {"dev": {"one": scripted()}}, toolSearch=True)
    async with WireClient.spawn(workbench(config)) as client:
        refused = refusal(await client.call_tool("find_tools", {"query": "x", "toolbox_name": "deb"}))
        assert refused.startswith("Toolbox 'deb' not found in configuration")
        assert "'dev'" in refused
        assert refusal(await client.call_tool("find_tools", {"query": " "})) == (
            "Invalid parameters: query cannot be empty"
        )
        nothing = await found(client, "ファイル" * 2500)
        assert nothing["tools"] == []
        assert nothing["_notes"][0].startswith("No tool fits this query.")
        assert len(nothing["query"]) == 300


async def test_the_same_search_in_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "log"
    configured(tmp_path, {"dev": {"mail": scripted(log=str(log), tools=MAIL)}, "rest": {"other": scripted()}})
    before = await run("search", "mail", cwd=tmp_path)
    assert (before.status, log.exists()) == (1, False)
    assert "No tool fits these words." in before.out
    assert "2 servers not searched, since not yet run: dev/mail, rest/other." in before.out
    await run("check", "--connect", cwd=tmp_path)
    log.unlink()
    after = await run("search", "deleting", "messages", cwd=tmp_path)
    assert (after.status, after.err) == (0, "")
    assert after.out.splitlines()[:2] == ["wipe_mail  dev / mail", "    Deletes every message"]
    as_json = json.loads((await run("search", "mail", "--limit", "1", "--json", cwd=tmp_path)).out)
    assert names(as_json) == ["send_mail"]
    assert not log.exists()
    assert (await run("search", "mail", "--toolbox", "nope", cwd=tmp_path)).err.startswith(
        "mcp-workbench: Toolbox 'nope' not found in configuration"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (None, "query is required"),
        ({}, "query is required"),
        ({"query": 5}, "query must be a string"),
        ({"query": "  "}, "query cannot be empty"),
        ({"query": "x", "limit": 0}, "limit must be a whole number from 1 to 20"),
        ({"query": "x", "limit": 21}, "limit must be a whole number from 1 to 20"),
        ({"query": "x", "limit": "5"}, "limit must be a whole number from 1 to 20"),
        ({"query": "x", "limit": True}, "limit must be a whole number from 1 to 20"),
        ({"query": "x", "limit": 2.5}, "limit must be a whole number from 1 to 20"),
        ({"query": "x", "toolbox_name": ""}, "toolbox_name cannot be empty"),
        ({"query": "x", "toolbox": "dev"}, "Unrecognized key: 'toolbox'"),
        ([], "arguments must be an object"),
    ],
)
def test_arguments_that_do_not_fit_get_a_sentence(arguments: object, sentence: str) -> None:
    with pytest.raises(InvalidParameters) as refused:
        parse_find_tools(arguments)
    assert str(refused.value).startswith(f"Invalid parameters: {sentence}")


def test_arguments_that_fit() -> None:
    assert parse_find_tools({"query": "mail"}) == Query("mail", 5, None)
    assert parse_find_tools('{"query": "mail", "limit": 20.0}') == Query("mail", 20, None)
    assert parse_find_tools({"query": "m", "limit": 1, "toolbox_name": "dev"}) == Query("m", 1, "dev")
