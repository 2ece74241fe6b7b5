"""New tokens for old ones, without a person.

However many requests need it at once, one refresh runs in this process, and one across processes: it holds the login's
file lock, and what another process stored meanwhile is taken instead. A refresh that was begun is finished even when
the request that began it is given up, since its answer may hold the only refresh token that still works. Tokens are
dropped only where the authorization server says that the grant is gone.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from mcp_workbench.downstream.transports.login.challenge import Challenge
from mcp_workbench.downstream.transports.login.file_lock import LockBusy
from mcp_workbench.downstream.transports.login.finding import check_issuer, find, scopes_for
from mcp_workbench.downstream.transports.login.interactive import Learn, record_of
from mcp_workbench.downstream.transports.login.problems import LoginFailed, Rejected, Unreachable
from mcp_workbench.downstream.transports.login.record import Client, Record, Tokens
from mcp_workbench.downstream.transports.login.store import StoredLogin
from mcp_workbench.downstream.transports.login.target import Target
from mcp_workbench.downstream.transports.login.tokens import request_tokens
from mcp_workbench.downstream.transports.login.web import Web, web

_log = logging.getLogger(__name__)

_GRACE = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class GrantGone(LoginFailed):
    """Nothing but a new login will help."""


class Renewal:
    """Renews the tokens of one login."""

    def __init__(self, target: Target, stored: StoredLogin, learn: Learn) -> None:
        self._target = target
        self._stored = stored
        self._learn = learn
        self._flight: _Flight | None = None
        self._pause = 0.0
        self._not_before = 0.0
        self._failure: tuple[str | None, LoginFailed] | None = None

    async def renew(self, stale: str | None, challenge: Challenge = Challenge()) -> Tokens:  # noqa: B008 - frozen
        """Return tokens other than `stale`.

        Raises:
            GrantGone: The authorization server will not give any.
            Unreachable: It could not be asked. The tokens that there are stay.
            LoginFailed: What it answered cannot be used. They stay, too.
        """
        while True:
            tokens = self._tokens()
            if tokens is not None and tokens.access_token != stale:
                return tokens
            self._refuse_while_pausing(stale)
            flight = self._flight
            if flight is not None:
                await flight.ended.wait()
            else:
                flight = await self._fly(stale, challenge)
            if flight.renewed is not None:  # which may hold the same access token again: some servers only prolong it
                return flight.renewed

    async def _fly(self, stale: str | None, challenge: Challenge) -> "_Flight":
        flight = self._flight = _Flight()

        async def attempt() -> None:
            flight.renewed = await self._attempt(stale, challenge)

        try:
            await finish_even_if_cancelled(attempt)
        finally:
            self._flight = None
            flight.ended.set()
        return flight

    async def _attempt(self, stale: str | None, challenge: Challenge) -> Tokens | None:
        try:
            async with self._stored.lock():
                record = self._stored.read()
                tokens = record.tokens if record else None
                if tokens is None or tokens.access_token == stale:  # else another process was faster
                    await self._exchange(record, challenge)
        except LockBusy:
            self._fail(stale, Unreachable("another mcp-workbench has been renewing this login for too long"))
        except OSError as error:
            self._fail(stale, Unreachable(f"the login's file cannot be locked: {error.strerror}"))
        except LoginFailed as failure:
            self._fail(stale, failure)
        else:
            self._failure, self._pause = None, 0.0
            return self._tokens()
        return None

    async def _exchange(self, record: Record | None, challenge: Challenge) -> None:
        async with web() as connection:
            if self._target.is_program:
                renewed = await self._log_in_as_program(connection, record, challenge)
            else:
                renewed = await self._refresh(connection, record)
        self._learn(renewed.secrets())
        try:
            self._stored.write(renewed)
        except OSError as error:
            _log.warning("a renewed login cannot be stored and will be lost at the end: %s", error.strerror)
            self._stored.keep(renewed)

    async def _refresh(self, connection: Web, record: Record | None) -> Record:
        tokens = record.tokens if record else None
        if record is None or tokens is None or tokens.refresh_token is None:
            raise GrantGone("there is nothing to renew the login with")
        form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token}
        if record.send_resource:
            form["resource"] = record.resource
        try:
            granted = await request_tokens(connection, record.token_endpoint, self._client(record), form, before=tokens)
        except Rejected as rejected:
            self._note_rejection(record, rejected)
            raise GrantGone(str(rejected)) from None
        return replace(record, tokens=granted.tokens)

    def _note_rejection(self, record: Record, rejected: Rejected) -> None:
        if rejected.error == "invalid_grant":
            record = replace(record, tokens=None)
        elif rejected.error in ("invalid_client", "unauthorized_client"):
            record = replace(record, client_is_stale=True)
        else:
            return
        try:
            self._stored.write(record)
        except OSError:
            self._stored.keep(record)

    async def _log_in_as_program(self, connection: Web, record: Record | None, challenge: Challenge) -> Record:
        discovery = await find(connection, self._target, challenge)
        check_issuer(self._target, discovery, record)
        client = self._target.fixed_client(discovery.server.auth_methods)
        if client is None:
            raise LoginFailed('the grant "client_credentials" needs a clientId')
        scopes = scopes_for(self._target, challenge, discovery, record)
        form = {"grant_type": "client_credentials"}
        if discovery.send_resource:
            form["resource"] = discovery.resource
        if scopes:
            form["scope"] = " ".join(scopes)
        granted = await request_tokens(connection, discovery.server.token_endpoint, client, form, asked=scopes)
        return replace(record_of(discovery, None), tokens=granted.tokens)

    def _client(self, record: Record) -> Client:
        client = record.client or self._target.fixed_client(record.auth_methods)
        if client is None:
            raise GrantGone("the config no longer names the client that was logged in")
        return client

    def _tokens(self) -> Tokens | None:
        record = self._stored.read()
        return record.tokens if record else None

    def _fail(self, stale: str | None, failure: LoginFailed) -> None:
        self._failure = (stale, failure)
        self._pause = min(max(_FIRST_PAUSE, 2 * self._pause), _LONGEST_PAUSE)
        self._not_before = time.monotonic() + self._pause

    def _refuse_while_pausing(self, stale: str | None) -> None:
        """Ask a server that just failed no more often than makes sense; other tokens are another matter."""
        if self._failure is not None and self._failure[0] == stale and time.monotonic() < self._not_before:
            failure = self._failure[1]
            raise type(failure)(str(failure))  # an exception of its own for each who meets it


class _Flight:
    """One renewal under way."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.renewed: Tokens | None = None


async def finish_even_if_cancelled(work: Callable[[], Awaitable[None]], grace: float = _GRACE) -> None:
    """Run `work`, which raises nothing. Cancelled, it still gets `grace` seconds to come to its end."""
    scope, ended = anyio.CancelScope(shield=True), anyio.Event()

    async def run() -> None:
        try:
            with scope:
                await work()
        finally:
            ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            await ended.wait()
        finally:
            scope.deadline = min(scope.deadline, anyio.current_time() + grace)
