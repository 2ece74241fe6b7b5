"""What people complain of most about logins at remote servers, each tried with the real program."""

import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from authority import Authority, authority, visit
from mcp_workbench.downstream.transports.login.server_login import ServerLogin
from mcp_workbench.downstream.transports.login.target import Target
from serving import opened, refusal, serving, used
from terminal import run
from wire import PATIENCE, Json, WireClient, text_of, write_config

pytestmark = pytest.mark.anyio

NEEDED = "login needed: run mcp-workbench login dev guarded"


class Home:
    """A user who is logged in, and whose browser leaves a trace when it is opened."""

    def __init__(self, folder: Path, at: Authority) -> None:
        self.at = at
        self.folder = folder
        self.opened_pages = folder / "opened"
        script = folder / "browser.py"
        script.write_text(f"open({str(self.opened_pages)!r}, 'a').write('opened ')")
        self.env = {
            "XDG_DATA_HOME": str(folder / "data"),
            "BROWSER": f"{sys.executable} {script} %s",
            "DISPLAY": ":0",
        }

    @property
    def toolboxes(self) -> Json:
        return {"dev": {"guarded": {"url": self.at.resource}}}

    def login(self) -> ServerLogin:
        return ServerLogin(Target("dev", "guarded", self.at.resource))

    async def log_in(self) -> None:
        pending = await self.login().begin_login()
        assert (await visit(pending.url)).status_code == 200

    def change_tokens(self, **changes: Any) -> None:
        """Change what is stored, as time would."""
        stored = self.login().stored
        record = stored.read()
        assert record is not None
        assert record.tokens is not None
        stored.write(replace(record, tokens=replace(record.tokens, **changes)))

    def expire(self) -> None:
        self.change_tokens(expires_at=time.time() - 10)


@pytest.fixture
async def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Home]:
    async with authority() as at:
        made = Home(tmp_path, at)
        monkeypatch.setenv("XDG_DATA_HOME", made.env["XDG_DATA_HOME"])
        await made.log_in()
        yield made
        assert not made.opened_pages.exists(), "a browser was opened that nobody asked for"


@asynccontextmanager
async def workbench(home: Home, folder: str = "one") -> AsyncGenerator[WireClient]:
    place = home.folder / folder
    place.mkdir(exist_ok=True)
    async with serving(place, home.toolboxes, env=home.env) as client:
        yield client
    assert [secret for secret in home.at.provider.secrets if secret in client.stderr] == []


async def echo(client: WireClient) -> str:
    return text_of(await used(client, "dev", "guarded", "echo", {"text": "hello"}))


async def test_a_login_survives_a_restart_even_when_its_token_expired_meanwhile(home: Home) -> None:
    for expected in (0, 1):
        async with workbench(home) as client:
            assert "_errors" not in await opened(client, "dev")
            assert await echo(client) == "hello"
        assert (home.at.refreshes, home.at.provider.visits) == (expected, 1)
        home.expire()


async def test_a_token_that_expires_or_is_refused_while_serving_is_renewed_once(home: Home) -> None:
    async with workbench(home) as client:
        await opened(client, "dev")
        home.expire()
        assert [await echo(client), await echo(client)] == ["hello", "hello"]
        assert home.at.refreshes == 1
        home.at.provider.revoke_access()
        assert [await echo(client), await echo(client)] == ["hello", "hello"]
        assert (home.at.refreshes, home.at.provider.visits) == (2, 1)


async def test_a_renewal_that_helps_nothing_is_not_repeated_for_ever(home: Home) -> None:
    async with workbench(home) as client:
        await opened(client, "dev")
        home.at.provider.revoke_access()
        home.at.provider.refuses_new_tokens = True
        for _ in range(5):
            assert NEEDED in refusal(await used(client, "dev", "guarded", "echo", {"text": "hello"}))
        assert home.at.refreshes == 1
        home.at.provider.refuses_new_tokens = False
        await home.log_in()
        assert await echo(client) == "hello"


async def test_a_network_that_fails_costs_no_login(home: Home) -> None:
    async with workbench(home) as client:
        await opened(client, "dev")
        home.expire()
        home.at.answers["/token"] = lambda: (503, {})
        assert "could not be renewed" in refusal(await used(client, "dev", "guarded", "echo", {"text": "hello"}))
        home.at.answers.clear()
    async with workbench(home) as client:
        assert "_errors" not in await opened(client, "dev")
    assert home.at.provider.visits == 1


async def test_two_workbenches_renew_a_login_once_and_both_keep_it(home: Home) -> None:
    """Its refresh token is good for one use: a second use of it would end the login for both."""
    async with workbench(home, "one") as one, workbench(home, "two") as two:
        for client in (one, two):
            await opened(client, "dev")
        for _ in range(2):
            home.at.provider.revoke_access()
            before = home.at.refreshes
            answers: list[str] = []

            async def ask(client: WireClient, into: list[str]) -> None:
                into.append(await echo(client))

            with anyio.fail_after(PATIENCE):
                async with anyio.create_task_group() as tasks:
                    for client in (one, two, one, two):
                        tasks.start_soon(ask, client, answers)
            assert (answers, home.at.refreshes - before) == (["hello"] * 4, 1)
    assert home.at.provider.used.isdisjoint(home.at.provider.refresh)


async def test_no_browser_opens_out_of_nothing(home: Home) -> None:
    home.at.provider.revoke_access()
    home.at.provider.refresh.clear()
    async with workbench(home) as client:
        assert NEEDED in refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
        assert NEEDED in refusal(await client.call_tool("open_toolbox", {"toolbox_name": "dev"}))
    write_config(home.folder, home.toolboxes)
    for words in (("check", "--connect"), ("list", "dev"), ("call", "dev", "guarded", "echo", "text=x")):
        done = await run(*words, cwd=home.folder, env={**home.env})
        assert done.status == 1
        assert "login needed" in done.out + done.err
    assert home.at.provider.visits == 1


async def test_calls_do_not_wait_for_one_another(home: Home) -> None:
    """Each of six calls is answered only when all six have come; before them, all meet one token that is refused."""
    async with workbench(home) as client:
        await opened(client, "dev")
        home.at.provider.revoke_access()
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for _ in range(6):
                    tasks.start_soon(used, client, "dev", "guarded", "meet", {"number": 6})
        assert home.at.refreshes == 1
