"""`mcp-workbench login` and `logout`: the real program, at a server with the SDK's authorization server."""

import json
import re
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from authority import Authority, authority, free_port, visit
from servers.web_server import Asked, Reply, web_server
from terminal import Terminal, rows, run, terminal
from wire import Json, scripted, write_config

pytestmark = pytest.mark.anyio

BROWSER = """
import sys, urllib.request
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1]).read()
"""


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "data"), "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", **more}


def logins(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "data" / "mcp-workbench" / "logins").glob("*.json"))


def configured(tmp_path: Path, at: Authority, **more: Json) -> None:
    write_config(tmp_path, {"dev": {"guarded": {"url": at.resource}, **more}})


@asynccontextmanager
async def logging_in(tmp_path: Path, *options: str, env: Mapping[str, str] | None = None) -> AsyncGenerator[Terminal]:
    environ = environment(tmp_path, **(env or {}))
    async with terminal("login", "dev", "guarded", *options, cwd=tmp_path, env=environ) as shown:
        yield shown


async def address(shown: Terminal) -> str:
    """The address of the login page, once it is shown."""
    await shown.shows("state=")
    await shown.shows("\n\n")
    found = re.search(r"http://\S+/authorize\?\S+", shown.text)
    assert found, shown.text
    return found[0]


async def came_back_to(url: str) -> str:
    """Log in without following the browser's last step, which leads to another machine's loopback."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        response = await browser.get(url)
        assert response.status_code == 302, response.text
        return response.headers["location"]


async def test_a_login_without_a_browser_shows_the_address_and_ends_when_it_was_visited(tmp_path: Path) -> None:
    async with authority() as at:
        configured(tmp_path, at)
        async with logging_in(tmp_path, "--no-browser") as shown:
            page = await visit(await address(shown))
            assert "You are logged in" in page.text
            assert await shown.status() == 0
        assert "Logged in at server 'guarded' of toolbox 'dev'." in shown.text
        assert len(logins(tmp_path)) == 1
        assert [secret for secret in at.provider.secrets if secret in shown.text] == []


async def test_over_ssh_the_address_at_which_the_browser_ended_is_pasted(tmp_path: Path) -> None:
    async with authority() as at:
        configured(tmp_path, at)
        async with logging_in(tmp_path, "--no-browser") as shown:
            back = await came_back_to(await address(shown))
            shown.type("http://127.0.0.1/callback?code=x&state=y")
            await shown.shows("does not belong to this login")
            shown.type(back)
            assert await shown.status() == 0
        assert "Logged in at server 'guarded'" in shown.text
        assert len(logins(tmp_path)) == 1


async def test_a_browser_is_opened_where_there_is_one(tmp_path: Path) -> None:
    script = tmp_path / "browser.py"
    script.write_text(BROWSER)
    async with authority() as at:
        configured(tmp_path, at)
        browser = {"BROWSER": f"{sys.executable} {script} %s"}
        async with logging_in(tmp_path, env=browser) as shown:
            assert await shown.status() == 0
        assert "Opening the login page in your browser" in shown.text
        assert at.provider.visits == 1


async def test_ctrl_c_gives_the_login_up(tmp_path: Path) -> None:
    async with authority() as at:
        configured(tmp_path, at)
        async with logging_in(tmp_path, "--no-browser") as shown:
            await address(shown)
            shown.interrupt()
            assert await shown.status() == 130
        assert logins(tmp_path) == []


async def test_logout_revokes_and_forgets(tmp_path: Path) -> None:
    async with authority() as at:
        configured(tmp_path, at)
        async with logging_in(tmp_path, "--no-browser") as shown:
            await visit(await address(shown))
        assert at.provider.refresh
        done = await run("logout", "dev", "guarded", cwd=tmp_path, env=environment(tmp_path))
        assert done.out == "Logged out of server 'guarded' of toolbox 'dev': its tokens are revoked and deleted.\n"
        assert (done.status, done.err, at.provider.refresh, at.provider.access) == (0, "", {}, {})
        assert logins(tmp_path) == []
        again = await run("logout", "dev", "guarded", cwd=tmp_path, env=environment(tmp_path))
        assert (again.status, again.out) == (0, "Nobody is logged in at server 'guarded' of toolbox 'dev'.\n")


async def test_a_logout_without_a_network_forgets_all_the_same(tmp_path: Path) -> None:
    async with authority() as at:
        configured(tmp_path, at)
        async with logging_in(tmp_path, "--no-browser") as shown:
            await visit(await address(shown))
    done = await run("logout", "dev", "guarded", cwd=tmp_path, env=environment(tmp_path))
    assert done.status == 0
    assert "its tokens are deleted here; they could not be revoked (127.0.0.1:" in done.out
    assert "connection refused" in done.out
    assert logins(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("prod", "x"), "Toolbox 'prod' not found in configuration. Available: 'dev'."),
        (("dev", "githbu"), "Server 'githbu' not found in toolbox 'dev'. Did you mean 'github'?"),
        (
            ("dev", "files"),
            "Server 'files' in toolbox 'dev' is a program on this machine: logins are for servers with a 'url'. "
            "Available: 'github', 'keyed'.",
        ),
        (
            ("dev", "keyed"),
            "Server 'keyed' in toolbox 'dev' gets its credentials from its entry in the config: there is nothing to "
            "log in to",
        ),
        (("dev", "off"), "Server 'off' in toolbox 'dev' is disabled in workbench-config.json"),
    ],
)
@pytest.mark.parametrize("command", ["login", "logout"])
async def test_a_name_that_nobody_logs_in_at_gets_its_sentence(
    tmp_path: Path, command: str, words: tuple[str, ...], sentence: str
) -> None:
    servers = {
        "files": scripted(),
        "github": {"url": "https://mcp.invalid/mcp"},
        "keyed": {"url": "https://mcp.invalid/mcp", "headers": {"authorization": "Bearer abcdef"}},
        "off": {"url": "https://mcp.invalid/mcp", "disabled": True},
    }
    write_config(tmp_path, {"dev": servers})
    done = await run(command, *words, cwd=tmp_path, env=environment(tmp_path))
    assert (done.status, done.out, done.err) == (1, "", f"mcp-workbench: {sentence}\n")


async def test_a_server_that_lets_everybody_in_needs_no_login(tmp_path: Path) -> None:
    async def handler(asked: Asked, reply: Reply) -> None:
        await (reply.result({}) if asked.method == "POST" and asked.target == "/mcp" else reply.send(404))

    async with web_server(handler) as server:
        write_config(tmp_path, {"dev": {"guarded": {"url": server.url}}})
        done = await run("login", "dev", "guarded", cwd=tmp_path, env=environment(tmp_path))
    assert done.err == (
        f"mcp-workbench: No login at server 'guarded' of toolbox 'dev': 127.0.0.1:{server.port} lets everybody in, and "
        "publishes no login\n"
    )
    assert done.status == 1
    assert "/register" not in [asked.target for asked in server.asked]


async def test_a_server_that_wants_a_key_says_so(tmp_path: Path) -> None:
    async def handler(asked: Asked, reply: Reply) -> None:
        await reply.send(401 if asked.target == "/mcp" else 404)

    async with web_server(handler) as server:
        write_config(tmp_path, {"dev": {"guarded": {"url": server.url}}})
        done = await run("login", "dev", "guarded", cwd=tmp_path, env=environment(tmp_path))
    assert "wants credentials and publishes no login: it may want a token in the headers of its entry" in done.err


async def test_without_a_network_the_reason_is_told(tmp_path: Path) -> None:
    write_config(tmp_path, {"dev": {"guarded": {"url": f"http://127.0.0.1:{free_port()}/mcp"}}})
    done = await run("login", "dev", "guarded", cwd=tmp_path, env=environment(tmp_path))
    assert done.status == 1
    assert "Not logged in at server 'guarded' of toolbox 'dev': 127.0.0.1:" in done.err
    assert "cannot be reached: connection refused by '127.0.0.1:" in done.err


class TestOffer:
    """The commands that start servers offer the login that one of them wants."""

    async def test_check_names_the_login_and_the_next_step(self, tmp_path: Path) -> None:
        async with authority() as at:
            configured(tmp_path, at, local=scripted())
            done = await run("check", "--connect", cwd=tmp_path, env=environment(tmp_path))
            assert rows(done.out)[0] == ["dev", "guarded", "http", "login needed"]
            assert rows(done.out)[1][:4] == ["dev", "local", "stdio", "ready"]
            assert "Next: run mcp-workbench login dev guarded" in done.out
            assert done.status == 1
            report = json.loads(
                (await run("check", "--connect", "--json", cwd=tmp_path, env=environment(tmp_path))).out
            )
            assert [(each["state"], each["transport"]) for each in report["servers"]] == [
                ("login needed", "http"),
                ("ready", "stdio"),
            ]
            assert report["servers"][0]["nextStep"] == "run mcp-workbench login dev guarded"

    @pytest.mark.parametrize("words", [("call", "dev", "guarded", "echo", "text=hello"), ("list", "dev", "guarded")])
    async def test_a_command_goes_on_after_the_login(self, tmp_path: Path, words: tuple[str, ...]) -> None:
        async with authority() as at:
            configured(tmp_path, at)
            async with terminal(*words, cwd=tmp_path, env=environment(tmp_path)) as shown:
                await shown.shows("Server 'guarded' of toolbox 'dev' wants you to log in. Now? (y/n)")
                shown.type("y")
                await visit(await address(shown))
                assert await shown.status() == 0
            assert shown.text.rstrip().endswith("hello" if words[0] == "call" else "Return the text.")

    async def test_whoever_wants_no_login_gets_the_reason(self, tmp_path: Path) -> None:
        async with authority() as at:
            configured(tmp_path, at)
            async with terminal("call", "dev", "guarded", "echo", cwd=tmp_path, env=environment(tmp_path)) as shown:
                await shown.shows("(y/n)")
                shown.type("")
                assert await shown.status() == 1
            assert "login needed: run mcp-workbench login dev guarded" in " ".join(shown.text.split())
