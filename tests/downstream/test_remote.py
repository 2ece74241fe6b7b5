"""Remote servers through the real program: what a client meets who has a server with a `url` in its toolbox."""

import json
import re
from pathlib import Path

import pytest

from authority import Authority, authority, visit
from servers.web_server import Asked, Handler, Reply, mcp, web_server
from serving import names, opened, refusal, serving, used
from terminal import terminal
from wire import Era, Json, scripted, text_of

pytestmark = pytest.mark.anyio

ERAS: tuple[Era, ...] = ("legacy", "modern")
TOOLS: Json = {"tools": [{"name": "greet", "inputSchema": {"type": "object", "x-kept": 1}}]}
RESULT: Json = {"content": [{"type": "novel", "x": 1}], "structuredContent": {"a": [1, 2.50]}, "extra": {"kept": True}}
KEY = {"Authorization": "Bearer ${REMOTE_TOKEN}"}
SECRET = {"REMOTE_TOKEN": "sekret-token-0123456789"}


def keyed(call: Handler, *, token: str = SECRET["REMOTE_TOKEN"]) -> Handler:
    """A server that lets only the holder of a token in."""

    async def handler(asked: Asked, reply: Reply) -> None:
        if asked.headers.get("authorization") != f"Bearer {token}":
            await reply.send(401)
        else:
            await mcp(call)(asked, reply)

    return handler


async def answer(asked: Asked, reply: Reply) -> None:
    await reply.result(TOOLS if asked.rpc == "tools/list" else RESULT)


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_with_a_token_in_a_header_works_like_any_other(tmp_path: Path, era: Era) -> None:
    async with web_server(keyed(answer)) as server:
        box = {"docs": {"url": server.url, "headers": KEY}, "local": scripted()}
        async with serving(tmp_path, {"dev": box}, era, env=SECRET) as client:
            listing = await opened(client, "dev")
            assert listing["servers_connected"] == 2
            assert listing["tools"][0] == {
                "name": "greet", "toolbox_name": "dev", "source_server": "docs",
                "inputSchema": {"type": "object", "x-kept": 1},
            }  # fmt: skip
            result = await used(client, "dev", "docs", "greet", {"who": "me"})
            assert {key: result[key] for key in RESULT} == RESULT
        call = server.of("tools/call")[0]
        assert call.message["params"]["arguments"] == {"who": "me"}
        assert SECRET["REMOTE_TOKEN"] not in client.stderr


async def test_a_server_that_refuses_the_token_fails_alone_with_its_reason(tmp_path: Path) -> None:
    async with web_server(keyed(answer, token="another")) as server:
        box = {"docs": {"url": server.url, "headers": KEY}, "local": scripted()}
        async with serving(tmp_path, {"dev": box}, env=SECRET) as client:
            listing = await opened(client, "dev")
        assert listing["_errors"] == [
            "Failed to connect to server 'docs' in toolbox 'dev': 401 Unauthorized: it wants credentials, or does not "
            "accept those it was sent"
        ]
        assert listing["servers_connected"] == 1


async def test_a_call_that_meets_a_lost_session_is_sent_once_more(tmp_path: Path) -> None:
    sessions: list[str] = []

    async def handler(asked: Asked, reply: Reply) -> None:
        session = asked.headers.get("mcp-session-id")
        if asked.rpc == "initialize":
            sessions.append(f"session-{len(sessions)}")
            await mcp(answer, session=sessions[-1])(asked, reply)
        elif asked.rpc == "server/discover":
            await reply.json({"jsonrpc": "2.0", "id": asked.message["id"], "error": {"code": -32601, "message": "no"}})
        elif session is not None and session != sessions[-1]:
            await reply.send(404)
        else:
            await mcp(answer)(asked, reply)

    async with web_server(handler) as server, serving(tmp_path, {"dev": {"docs": {"url": server.url}}}) as client:
        await opened(client, "dev")
        sessions.append("the server was restarted")
        result = await used(client, "dev", "docs", "greet")
        assert result["content"] == RESULT["content"]
        answered = [call for call in server.of("tools/call") if call.headers["mcp-session-id"] == sessions[-1]]
        assert (len(sessions), len(answered)) == (3, 1)


async def test_a_call_that_may_have_run_is_not_sent_again(tmp_path: Path) -> None:
    async def crash(asked: Asked, reply: Reply) -> None:
        await (reply.result(TOOLS) if asked.rpc == "tools/list" else reply.reset())

    async with web_server(mcp(crash)) as server, serving(tmp_path, {"dev": {"docs": {"url": server.url}}}) as client:
        await opened(client, "dev")
        sentence = refusal(await used(client, "dev", "docs", "greet"))
        assert sentence.startswith("Error executing tool 'greet' in server 'docs' (toolbox 'dev'): ")
        assert len(server.of("tools/call")) == 1


class TestLogin:
    def entry(self, at: Authority) -> Json:
        return {"dev": {"guarded": {"url": at.resource}, "local": scripted()}}

    async def test_a_client_that_cannot_be_asked_hears_which_command_to_run(self, tmp_path: Path) -> None:
        env = {"XDG_DATA_HOME": str(tmp_path / "data")}
        async with authority() as at, serving(tmp_path, self.entry(at), env=env) as client:
            listing = await opened(client, "dev")
            assert listing["_errors"] == [
                "Failed to connect to server 'guarded' in toolbox 'dev': "
                "login needed: run mcp-workbench login dev guarded"
            ]
            assert names(listing) != []
            assert at.provider.visits == 0
            assert at.count("/register") == 0

    @pytest.mark.parametrize("era", ERAS)
    async def test_a_client_that_can_show_a_page_is_asked_and_the_opening_goes_on(
        self, tmp_path: Path, era: Era
    ) -> None:
        env = {"XDG_DATA_HOME": str(tmp_path / "data")}
        shown: list[Json] = []

        async def log_in(method: str, params: Json) -> Json:
            shown.append(params)
            await visit(params["url"])
            return {"action": "accept"}

        can_show: Json = {"elicitation": {"url": {}}}
        async with (
            authority() as at,
            serving(tmp_path, self.entry(at), era, env=env, capabilities=can_show) as client,
        ):
            result = await client.call_tool_answering("open_toolbox", {"toolbox_name": "dev"}, log_in)
            listing = json.loads(text_of(result))
            assert "_errors" not in listing
            assert {"meet", "echo"} < set(names(listing))
            assert [(params["mode"], params["message"][:33]) for params in shown] == [
                ("url", "Server 'guarded' (toolbox 'dev') ")
            ]
            result = await used(client, "dev", "guarded", "echo", {"text": "hello"})
            assert text_of(result) == "hello"
            assert [secret for secret in at.provider.secrets if secret in client.stderr] == []

    @pytest.mark.parametrize("era", ERAS)
    async def test_a_person_who_declines_is_told_the_command_and_asked_once(self, tmp_path: Path, era: Era) -> None:
        asked: list[Json] = []

        async def decline(method: str, params: Json) -> Json:
            asked.append(params)
            return {"action": "decline"}

        env = {"XDG_DATA_HOME": str(tmp_path / "data")}
        can_show: Json = {"elicitation": {"url": {}}}
        async with (
            authority() as at,
            serving(tmp_path, self.entry(at), era, env=env, capabilities=can_show) as client,
        ):
            result = await client.call_tool_answering("open_toolbox", {"toolbox_name": "dev"}, decline)
            assert json.loads(text_of(result))["_errors"] == [
                "Failed to connect to server 'guarded' in toolbox 'dev': "
                "login needed: run mcp-workbench login dev guarded"
            ]
        assert len(asked) == 1

    async def test_a_login_in_a_terminal_is_used_by_the_next_opening(self, tmp_path: Path) -> None:
        env = {"XDG_DATA_HOME": str(tmp_path / "data"), "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
        async with authority() as at, serving(tmp_path, self.entry(at), env=env) as client:
            assert "login needed" in (await opened(client, "dev"))["_errors"][0]
            async with terminal("login", "dev", "guarded", "--no-browser", cwd=tmp_path, env=env) as shown:
                await shown.shows("\n\n")
                found = re.search(r"http://\S+/authorize\?\S+", shown.text)
                assert found
                await visit(found[0])
            assert "_errors" not in await opened(client, "dev")
            assert text_of(await used(client, "dev", "guarded", "echo", {"text": "hello"})) == "hello"
