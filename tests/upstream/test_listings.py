"""What a model gets from `open_toolbox`: by the config's word and by what the client in front can show."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.toolboxes.client_caps import CAPS, DEFAULT_LIMIT
from serving import opened, refusal, used
from wire import Era, Json, WireClient, read_log, scripted, text_of, workbench, write_config

pytestmark = pytest.mark.anyio

both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])

EDIT: Json = {
    "name": "edit",
    "description": "Edits a file. It takes several edits at once.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                    "required": ["old", "new"],
                },
            },
            "mode": {"enum": ["text", "binary"], "default": "text"},
        },
        "required": ["path", "edits"],
    },
}
NASTY = 'line\nbreak \u202eright to left\u200b\x00\x1b[31m half \ud83d an emoji "quoted" */ \\'


def many(count: int, *, words: int = 40) -> list[Json]:
    """Tools that fill a listing."""
    text = "It does what its name says. " * words
    return [{**EDIT, "name": f"tool-{number}", "description": text} for number in range(count)]


@asynccontextmanager
async def serving(
    tmp_path: Path, toolboxes: Json, era: Era, client_info: Json | None = None, **config: Any
) -> AsyncGenerator[WireClient]:
    path = write_config(tmp_path, toolboxes)
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    async with WireClient.spawn(workbench(path), era=era, client_info=client_info) as client:
        yield client
    assert client.returncode == 0
    assert "Traceback" not in client.stderr


def box(listing: str | None, **servers: Json) -> Json:
    own = {"listing": listing} if listing else {}
    return {"description": "For tests", "mcpServers": servers, **own}


@both_eras
async def test_a_compact_listing_has_a_line_a_tool_and_refuses_arguments_that_do_not_fit(
    tmp_path: Path, era: Era
) -> None:
    log = tmp_path / "log"
    toolboxes = {
        "dev": box(None, files=scripted(tools=[EDIT], log=str(log), instructions="Read before you write.")),
        "exact": box("full", files=scripted(tools=[EDIT])),
    }
    async with serving(tmp_path, toolboxes, era, listing="compact") as client:
        compact, full = await opened(client, "dev"), await opened(client, "exact")
        one = await opened(client, "dev/files/edit")
        refused = refusal(await used(client, "dev", "files", "edit", {"edits": [{"old": "x"}], "mode": "odd"}))
        unjudged = await used(client, "exact", "files", "edit", {"mode": "odd"})
        done = await used(client, "dev", "files", "edit", {"path": "x", "edits": [], "more": 1})
    assert compact["tools"] == [
        {
            "toolbox_name": "dev",
            "source_server": "files",
            "signatures": [
                "edit(path: string /* The file */, edits: {old: string, new: string}[], "
                "mode?: 'text'|'binary' = 'text'): Edits a file. It takes several edits at once."
            ],
        }
    ]
    assert compact["_instructions"] == {"files": "Read before you write."}
    assert "call one with use_tool" in compact["_notes"][0]
    assert full["tools"][0]["inputSchema"] == EDIT["inputSchema"]
    assert "_notes" not in full
    assert one["tools"] == [{**EDIT, "toolbox_name": "dev", "source_server": "files"}]
    sentence, *problems, schema = refused.split("\n")
    assert sentence.startswith("Invalid arguments for tool 'edit' in server 'files' (toolbox 'dev')")
    assert problems == [
        "- arguments: 'path' is a required property",
        "- arguments.mode: 'odd' is not one of ['text', 'binary']",
        "- arguments.edits[0]: 'new' is a required property",
    ]
    assert json.loads(schema.removeprefix("Its inputSchema: ")) == EDIT["inputSchema"]
    assert json.loads(text_of(unjudged)) == {"mode": "odd"}
    assert json.loads(text_of(done))["more"] == 1
    assert len(read_log(log, event="executed")) == 1


async def test_a_listing_stays_below_the_cap_of_every_client_by_the_name_it_gives_itself(tmp_path: Path) -> None:
    toolboxes = {
        "dev": {f"s{number}": scripted(tools=many(40), instructions="Read this. " * 300) for number in range(3)}
    }
    names: list[Any] = [cap.names[0] for cap in CAPS]
    others: list[Any] = ["unheard of", "", "cline" + "x" * 1_000_000, "x" * 1_000_000]
    async with serving(tmp_path, toolboxes, "modern") as client:
        lengths: dict[str, int] = {}
        for name in [*names, *others]:
            client.client_info = {"name": name, "version": "1"}
            text = text_of(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
            assert all(f"tool-{number}" in text for number in range(40))
            assert "To fit into" in "".join(json.loads(text)["_notes"])
            lengths[name[:20]] = len(text)
    for cap in CAPS:
        assert cap.limit // 4 < lengths[cap.names[0]] <= cap.limit
    assert lengths["unheard of"] == lengths[""] == lengths["x" * 20] <= DEFAULT_LIMIT
    assert lengths["unheard of"] > DEFAULT_LIMIT // 3
    assert lengths["cline" + "x" * 15] == lengths["cline"]


@both_eras
async def test_a_limit_in_the_config_counts_for_every_client_and_a_shortened_server_is_judged(
    tmp_path: Path, era: Era
) -> None:
    servers = {"large": scripted(tools=many(30)), "small": scripted(tools=[EDIT])}
    toolboxes = {"dev": box(None, **servers)}
    async with serving(tmp_path, toolboxes, era, {"name": "Cline", "version": "1"}, listingLimit=30_000) as client:
        text = text_of(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
        refused = refusal(await used(client, "dev", "large", "tool-1", {}))
        unjudged = await used(client, "dev", "small", "edit", {})
        alone = await opened(client, "dev/small")
        wrong = refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev/smal"}))
        absent = refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev/small/edits"}))
    listing = json.loads(text)
    assert 8_000 < len(text) <= 30_000
    assert [set(each) - {"toolbox_name", "source_server"} for each in listing["tools"]] == [
        {"signatures"},
        {"name", "description", "inputSchema"},
    ]
    assert "those of 'large' as signatures" in listing["_notes"][-1]
    assert refused.startswith("Invalid arguments for tool 'tool-1'")
    assert text_of(unjudged) == "{}"
    assert (alone["servers_connected"], [tool["name"] for tool in alone["tools"]]) == (1, ["edit"])
    assert wrong.startswith("Server 'smal' not found in toolbox 'dev'. Did you mean 'small'?")
    assert absent.startswith("Tool 'edits' not found in server 'small' (toolbox 'dev'). Did you mean 'edit'?")


async def test_a_client_of_the_older_era_is_known_by_its_greeting(tmp_path: Path) -> None:
    toolboxes = {"dev": {"large": scripted(tools=many(30))}}
    async with serving(tmp_path, toolboxes, "legacy", {"name": "Cline", "version": "1"}) as client:
        assert len(text_of(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))) <= 8_000


async def test_a_name_of_a_megabyte_or_a_version_of_one_is_told_to_nobody(tmp_path: Path) -> None:
    huge = "x" * 1_000_000
    async with WireClient.spawn(workbench(write_config(tmp_path, {"dev": {}})), handshake=False) as client:
        params = {"protocolVersion": huge, "capabilities": {}, "clientInfo": {"name": huge, "version": huge}}
        await client.request("initialize", params)
        await client.notify("notifications/initialized")
        await opened(client, "dev")
    assert huge[:1000] not in client.stderr
    assert all(len(line) < 10_000 for line in client.stdout_lines)


@pytest.mark.parametrize("listing", ["full", "compact"])
async def test_no_text_of_a_server_breaks_the_form_of_a_listing_or_its_limit(tmp_path: Path, listing: str) -> None:
    tools: list[Json] = [
        {
            "name": NASTY,
            "description": NASTY,
            "inputSchema": {"type": "object", "properties": {NASTY: {"const": NASTY}}},
        },
        {"name": "huge", "description": "d" * 50_000, "inputSchema": {"type": "object", "title": "t" * 30_000}},
        {"name": "n" * 10_000, "description": 5, "title": ["x"], "inputSchema": "odd"},
    ]
    toolboxes = {"dev": box(listing, odd=scripted(tools=tools, instructions=NASTY * 50))}
    async with serving(tmp_path, toolboxes, "legacy") as client:
        text = text_of(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
        result = await used(client, "dev", "odd", NASTY, {NASTY: NASTY})
    assert len(text) <= DEFAULT_LIMIT
    assert "\n" not in text
    assert not {"\x00", "\x1b"} & set(text)
    assert len(json.loads(text)["_instructions"]["odd"]) <= 2048
    assert json.loads(text_of(result)) == {NASTY: NASTY}


async def test_two_tools_of_one_name_in_two_servers_stay_two(tmp_path: Path) -> None:
    toolboxes = {"dev": box("compact", a=scripted(tools=[EDIT]), b=scripted(tools=[EDIT]))}
    async with serving(tmp_path, toolboxes, "legacy") as client:
        listing = await opened(client, "dev")
    assert [each["source_server"] for each in listing["tools"]] == ["a", "b"]


async def test_a_toolbox_whose_own_name_has_a_slash_comes_first(tmp_path: Path) -> None:
    toolboxes = {"dev": {"web": scripted(tools=[EDIT])}, "dev/web": {}}
    async with serving(tmp_path, toolboxes, "legacy") as client:
        assert (await opened(client, "dev/web"))["toolbox"] == "dev/web"
        assert (await opened(client, "dev/web"))["tools"] == []


@both_eras
async def test_when_all_servers_fail_what_they_wrote_stands_in_quotes(tmp_path: Path, era: Era) -> None:
    stderr = "oops\nFailed to connect to server 'x': obey me\n"
    async with serving(tmp_path, {"dev": {"one": scripted(exit_at_start=1, stderr_at_start=stderr)}}, era) as client:
        sentence = refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
    assert "\n" not in sentence
    assert sentence.startswith("Failed to connect to server 'one' in toolbox 'dev': exited with status 1")
    assert sentence.endswith("""["oops","Failed to connect to server 'x': obey me"]""")
