"""Logins at a server whose authorization server is the SDK's: made once, kept, renewed, and never asked for in vain."""

import json
import logging
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import httpx2
import pytest

from authority import Authority, authority, visit
from mcp_workbench.config.servers import RemoteServer
from mcp_workbench.downstream.transports.authorization import LoginNeeded
from mcp_workbench.downstream.transports.login import renewal
from mcp_workbench.downstream.transports.login.problems import LoginFailed, Unreachable
from mcp_workbench.downstream.transports.login.record import Record
from mcp_workbench.downstream.transports.login.server_login import ServerLogin
from mcp_workbench.downstream.transports.login.target import Target, target_of
from remote_wire import talking
from wire import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "mcp-workbench" / "logins"


def target(at: Authority, **options: object) -> Target:
    return replace(Target("dev", "guarded", at.resource), **options)  # pyright: ignore[reportArgumentType]


async def logged_in(at: Authority, **options: object) -> ServerLogin:
    login = ServerLogin(target(at, **options))
    pending = await login.begin_login()
    page = await visit(pending.url)
    assert (page.status_code, "You are logged in" in page.text) == (200, True), page.text
    with anyio.fail_after(PATIENCE):
        await pending.wait()
    return login


@dataclass
class Answered:
    status: int
    attempts: int


async def ask(at: Authority, login: ServerLogin) -> Answered:
    """Send a request as a transport does: with the credentials, and once more where a refusal could be helped."""
    async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
        for attempt in (1, 2, 3):
            sent = await login.headers()
            response = await _post(client, at, sent)
            if response.status_code not in (401, 403):
                return Answered(response.status_code, attempt)
            challenge = response.headers.get("WWW-Authenticate")
            if not await login.challenged(response.status_code, challenge, sent):
                return Answered(response.status_code, attempt)
    pytest.fail("refused again and again, and still to be tried once more")


async def _post(client: httpx2.AsyncClient, at: Authority, headers: Mapping[str, str]) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    return await client.post(
        at.resource, json=body, headers={**headers, "Accept": "application/json, text/event-stream"}
    )


def tampered(login: ServerLogin, **changes: object) -> None:
    """Change the stored tokens, as time or somebody else would."""
    record = login.record()
    assert record is not None
    assert record.tokens is not None
    login.stored.write(replace(record, tokens=replace(record.tokens, **changes)))  # pyright: ignore[reportArgumentType]


def kept(login: ServerLogin) -> Record:
    record = login.record()
    assert record is not None
    return record


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.iterdir()]}


def files(folder: Path) -> str:
    return " ".join(path.name for path in folder.iterdir())


async def test_without_a_login_the_server_is_asked_and_then_the_person() -> None:
    async with authority() as at:
        login = ServerLogin(target(at))
        with pytest.raises(LoginNeeded, match=r"^login needed: run mcp-workbench login dev guarded$") as needed:
            await ask(at, login)
        assert needed.value.begin is not None
        pending = await needed.value.begin()
        assert pending is await login.begin_login()
        pending.close()


async def test_a_login_is_made_with_pkce_for_this_resource_and_stored_for_the_user_alone(home: Path) -> None:
    async with authority(scopes=("read",)) as at:
        login = await logged_in(at)
        assert (await ask(at, login)).attempts == 1
        exchange = next(form for _, path, form in at.requests if path == "/token")
        assert exchange["resource"] == at.resource
        assert len(exchange["code_verifier"]) >= 43
        record = kept(login)
        assert (record.issuer.rstrip("/"), record.token_endpoint) == (at.url, f"{at.url}/token")
        assert record.tokens is not None
        assert record.tokens.scopes == ("read",)
        assert record.tokens.expires_at is not None
        assert record.tokens.expires_at > time.time() + 3000
    if os.name == "posix":
        assert modes(home) == {0o700, 0o600}


async def test_a_login_survives_a_restart() -> None:
    async with authority() as at:
        await logged_in(at)
        assert (await ask(at, ServerLogin(target(at)))).status != 401
        assert at.provider.visits == 1


async def test_an_expired_login_is_renewed_after_a_restart_without_any_question() -> None:
    async with authority() as at:
        login = await logged_in(at)
        tampered(login, expires_at=time.time() - 10)
        asked = len(at.requests)
        assert (await ask(at, ServerLogin(target(at)))).attempts == 1
        assert [path for _, path, _ in at.requests[asked:]] == ["/token", "/mcp"]
        assert (at.refreshes, at.provider.visits) == (1, 1)


async def test_a_login_is_renewed_before_it_expires() -> None:
    async with authority() as at:
        login = await logged_in(at)
        tampered(login, obtained_at=time.time() - 3600, expires_at=time.time() + 5)
        assert (await ask(at, login)).attempts == 1
        assert at.refreshes == 1


async def test_a_refused_login_is_renewed_before_anybody_is_asked() -> None:
    async with authority() as at:
        login = await logged_in(at)
        at.provider.revoke_access()
        assert (await ask(at, login)).attempts == 2
        assert (at.refreshes, at.provider.visits) == (1, 1)


async def test_many_requests_at_once_renew_once() -> None:
    async with authority() as at:
        login = await logged_in(at)
        at.provider.revoke_access()
        statuses: list[int] = []

        async def request() -> None:
            statuses.append((await ask(at, login)).status)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(request)
        assert (len(statuses), 401 in statuses, at.refreshes) == (20, False, 1)


async def test_requests_do_not_wait_for_one_another() -> None:
    """Each request is answered only when all six have come: behind one lock none ever would be."""
    everybody, arrived = anyio.Event(), 0

    async def meet() -> None:
        nonlocal arrived
        arrived += 1
        if arrived == 6:
            everybody.set()
        await everybody.wait()

    async with authority() as at:
        login = await logged_in(at)
        at.before["/mcp"] = meet
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for _ in range(6):
                    tasks.start_soon(ask, at, login)
    assert arrived == 6


async def test_requests_with_a_token_that_is_still_good_do_not_wait_for_its_renewal_elsewhere() -> None:
    """While one request renews what was refused, another that was never refused goes its way."""
    asked, go_on = anyio.Event(), anyio.Event()

    async def slow() -> None:
        asked.set()
        await go_on.wait()

    async with authority() as at:
        login = await logged_in(at)
        sent = await login.headers()
        at.before["/token"] = slow
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(login.challenged, 401, None, sent)
                await asked.wait()
                assert (await ask(at, login)).attempts == 1
                go_on.set()


async def test_a_renewed_login_that_is_still_refused_ends_with_one_question_and_no_loop() -> None:
    async with authority() as at:
        login = await logged_in(at)
        at.provider.revoke_access()
        at.provider.refuses_new_tokens = True
        for _ in range(5):
            with pytest.raises(LoginNeeded, match=r"^login needed: run mcp-workbench login dev guarded "):
                await ask(at, login)
        assert at.refreshes == 1


async def test_a_grant_that_is_gone_is_dropped_and_asked_for_no_more() -> None:
    async with authority() as at:
        login = await logged_in(at)
        at.provider.revoke_access()
        at.provider.refresh.clear()
        for _ in range(3):
            with pytest.raises(LoginNeeded, match=r"^login needed: run mcp-workbench login dev guarded$"):
                await ask(at, login)
        assert at.refreshes == 1
        assert kept(login).tokens is None
        assert kept(login).client is not None


@pytest.mark.parametrize("answer", [(503, {}), (429, {}), (500, {"error": "invalid_grant"})])
async def test_trouble_at_the_token_endpoint_costs_no_login(
    answer: tuple[int, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewal, "_FIRST_PAUSE", 600.0)
    async with authority() as at:
        login = await logged_in(at)
        tampered(login, expires_at=time.time() - 10)
        at.answers["/token"] = lambda: answer
        for _ in range(3):
            with pytest.raises(
                Unreachable, match=rf"^the login has expired and could not be renewed: .* HTTP {answer[0]}"
            ):
                await ask(at, login)
        assert at.refreshes == 1
        at.answers.clear()
        assert (await ask(at, ServerLogin(target(at)))).attempts == 1


async def test_a_token_endpoint_that_is_down_costs_no_login() -> None:
    async with authority() as at:
        login = await logged_in(at)
        tampered(login, expires_at=time.time() - 10)
    with pytest.raises(Unreachable, match=r"^the login has expired and could not be renewed: "):
        await login.headers()
    async with authority(provider=at.provider, port=int(at.url.rpartition(":")[2])) as again:
        assert (await ask(again, ServerLogin(target(again)))).attempts == 1


async def test_a_token_that_is_still_good_is_used_while_it_cannot_be_renewed() -> None:
    async with authority() as at:
        login = await logged_in(at)
        tampered(login, obtained_at=time.time() - 3600, expires_at=time.time() + 5)
        at.answers["/token"] = lambda: (503, {})
        assert (await ask(at, login)).attempts == 1


async def test_a_client_that_its_server_forgot_is_registered_again_at_the_next_login() -> None:
    async with authority() as at:
        login = await logged_in(at)
        at.provider.revoke_access()
        at.provider.clients.clear()
        with pytest.raises(LoginNeeded):
            await ask(at, login)
        assert (await ask(at, await logged_in(at))).attempts == 1
        assert at.count("/register") == 2


async def test_a_client_is_registered_once_for_all_logins() -> None:
    async with authority() as at:
        await logged_in(at)
        await logged_in(at)
        assert (at.count("/register"), at.provider.visits) == (1, 2)


async def test_a_renewal_that_nobody_waits_for_any_more_is_finished() -> None:
    """Its answer holds the only refresh token that still works."""
    asked, go_on = anyio.Event(), anyio.Event()

    async def slow() -> None:
        asked.set()
        await go_on.wait()

    async with authority() as at:
        login = await logged_in(at)
        tampered(login, expires_at=time.time() - 10)
        at.before["/token"] = slow
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(login.headers)
                await asked.wait()
                tasks.cancel_scope.cancel()
                go_on.set()
        assert (await ask(at, ServerLogin(target(at)))).attempts == 1
        assert at.refreshes == 1


async def test_more_permissions_are_asked_for_in_one_sentence_and_by_the_next_login() -> None:
    async with authority(scopes=("read",)) as at:
        login = await logged_in(at)
        sent = await login.headers()
        challenge = 'Bearer error="insufficient_scope", scope="read extra"'
        for _ in range(2):
            with pytest.raises(LoginNeeded, match=r"^login needed: run .* guarded \(.* more permissions: extra\)$"):
                await login.challenged(403, challenge, sent)
        again = await logged_in(at)
        tokens = kept(again).tokens
        assert tokens is not None
        assert set(tokens.scopes) == {"read", "extra"}
        assert await login.challenged(403, challenge, sent) is True
        assert await login.challenged(403, challenge, await login.headers()) is False


async def test_a_login_made_elsewhere_counts_from_the_next_request_on() -> None:
    async with authority() as at:
        waiting = ServerLogin(target(at))
        with pytest.raises(LoginNeeded):
            await ask(at, waiting)
        await logged_in(at)
        assert (await ask(at, waiting)).attempts == 1


async def test_a_damaged_login_is_put_aside_with_a_note(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with authority() as at:
        login = await logged_in(at)
        login.stored.path.write_text('{"tokens": {"access_token": ')
        again = ServerLogin(target(at))
        with caplog.at_level(logging.WARNING), pytest.raises(LoginNeeded):
            await ask(at, again)
        assert "put aside" in caplog.text
        assert ".damaged" in files(home)


async def test_accounts_and_servers_have_files_of_their_own(home: Path) -> None:
    async with authority() as at:
        one = await logged_in(at)
        other = await logged_in(at, account="other")
        assert one.stored.path != other.stored.path
        assert kept(one).secrets() != kept(other).secrets()
        assert at.url not in files(home)


async def test_no_token_code_or_verifier_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with authority() as at:
            login = await logged_in(at)
            at.provider.revoke_access()
            await ask(at, login)
            at.answers["/token"] = lambda: (400, {"error": "invalid_grant", "error_description": at_rest(at)})
            at.provider.revoke_access()
            login = ServerLogin(target(at))
            with pytest.raises(LoginNeeded) as needed:
                await ask(at, login)
    verifiers = {form["code_verifier"] for _, _, form in at.requests if "code_verifier" in form}
    secrets = {*at.provider.secrets, *verifiers}
    ours = [
        entry.getMessage() for entry in caplog.records if "/callback" not in entry.getMessage()
    ]  # not the visitor's
    seen = "".join(ours) + str(needed.value) + repr(kept(login)) + repr(target(at, client_secret="a-client-secret"))
    assert len(secrets) >= 5
    assert [secret for secret in [*secrets, "a-client-secret"] if secret in seen] == []


def at_rest(at: Authority) -> str:
    return json.dumps([form.get("refresh_token") for _, _, form in at.requests])


async def test_a_fixed_client_comes_back_to_its_fixed_port() -> None:
    from authority import free_port

    port = free_port()
    async with authority() as at:
        await logged_in(at, callback_port=port)
        registered = next(iter(at.provider.clients.values()))
        assert [str(uri) for uri in registered.redirect_uris or []] == [f"http://localhost:{port}/callback"]
        at.provider.clients["mine"] = registered.model_copy(update={"client_id": "mine"})
        fixed = await logged_in(at, callback_port=port, client_id="mine", client_secret=registered.client_secret)
        assert at.count("/register") == 1
        assert kept(fixed).client is None
        assert str(registered.client_secret) not in fixed.stored.path.read_text()
        at.provider.revoke_access()
        assert (await ask(at, fixed)).attempts == 2


async def test_a_visit_that_is_not_the_login_changes_nothing() -> None:
    async with authority() as at:
        login = ServerLogin(target(at))
        pending = await login.begin_login()
        back = pending.comes_back_to
        assert (await visit(f"{back}?code=stolen&state=guessed")).status_code == 400
        assert (await visit(f"{back}?error=access_denied")).status_code == 400
        assert (await visit(back.replace("/callback", "/"))).status_code == 404
        assert not pending.is_over
        assert (await visit(pending.url)).status_code == 200
        await pending.wait()


async def test_a_refused_login_says_who_refused_it() -> None:
    async with authority() as at:
        pending = await ServerLogin(target(at)).begin_login()
        state = httpx2.URL(pending.url).params["state"]
        page = await visit(f"{pending.comes_back_to}?error=access_denied&error_description=%3Cb%3Eno&state={state}")
        assert "<b>" not in page.text
        assert "access_denied: &lt;b&gt;no" in page.text
        with pytest.raises(LoginFailed, match="says access_denied: <b>no"):
            await pending.wait()
        with pytest.raises(httpx2.ConnectError):
            await visit(pending.comes_back_to)


async def test_an_answer_of_another_issuer_is_refused() -> None:
    async with authority() as at:
        pending = await ServerLogin(target(at)).begin_login()
        state = httpx2.URL(pending.url).params["state"]
        page = await visit(f"{pending.comes_back_to}?code=x&state={state}&iss=https://elsewhere.example")
        assert page.status_code == 400
        with pytest.raises(LoginFailed, match="does not come from"):
            await pending.wait()
        assert at.count("/token") == 0


async def test_a_refused_login_is_renewed_where_the_entry_has_headers_of_its_own_too() -> None:
    async with authority() as at:
        login = await logged_in(at)
        at.provider.revoke_access()
        async with talking(at.resource, headers={"X-Tenant": "blue"}, authorization=login) as talk:
            await talk.greet()
            result = await talk.call("echo", {"text": "hello"})
        assert result["content"][0]["text"] == "hello"
        assert (at.refreshes, at.provider.visits) == (1, 1)


async def test_what_an_entry_names_in_its_address_or_headers_is_no_login() -> None:
    for entry in (
        {"url": "https://me:pass@a.example/mcp"},
        {"url": "https://a.example", "headers": {"AUTHORIZATION": "x"}},
    ):
        assert target_of("dev", "guarded", RemoteServer.model_validate(entry)) is None
