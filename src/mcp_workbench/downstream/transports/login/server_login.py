"""The credentials of one remote server: what every request carries, and what becomes of a refusal.

`headers` and `challenged` never open a browser, and never wait for a request: a token that is about to expire is
renewed, a token that was refused is renewed once, and where that is in vain the caller hears `LoginNeeded`. A login
that is made elsewhere meanwhile, in a terminal or by another workbench, counts from the next request on.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace

from mcp_workbench.downstream.transports.authorization import LoginNeeded
from mcp_workbench.downstream.transports.login.challenge import Challenge, parse
from mcp_workbench.downstream.transports.login.file_lock import LockBusy
from mcp_workbench.downstream.transports.login.finding import find
from mcp_workbench.downstream.transports.login.interactive import Learn, PendingLogin, begin
from mcp_workbench.downstream.transports.login.problems import LoginFailed, NoLoginOffered, Unreachable
from mcp_workbench.downstream.transports.login.record import Record, Tokens
from mcp_workbench.downstream.transports.login.renewal import GrantGone, Renewal
from mcp_workbench.downstream.transports.login.store import StoredLogin
from mcp_workbench.downstream.transports.login.target import Target
from mcp_workbench.downstream.transports.login.web import web

_log = logging.getLogger(__name__)

_FIRST_TRIAL, _LONGEST_TRIAL = 10.0, 3600.0


class ServerLogin:
    """The login at one server; there is one of these per connection, for as long as the connection is."""

    def __init__(self, target: Target, learn: Learn = lambda secrets: None) -> None:
        self._target = target
        self._learn = learn
        self._stored = StoredLogin(target.url, target.client_id, target.account)
        self._renewal = Renewal(target, self._stored, learn)
        self._pending: PendingLogin | None = None
        self._offers_login = target.is_configured
        self._trial = _FIRST_TRIAL
        self._on_trial: str | None = None
        self._learnt: Record | None = None

    @property
    def stored(self) -> StoredLogin:
        """Where the login is kept."""
        return self._stored

    def record(self) -> Record | None:
        """What is known of the login now."""
        record = self._stored.read()
        if record is not None and record is not self._learnt:
            self._learn(record.secrets())
            self._learnt = record
        return record

    async def headers(self) -> Mapping[str, str]:
        """The credentials for the next request; none where nobody has logged in, since some servers need none.

        Raises:
            LoginNeeded: The login has expired and cannot be renewed without a person.
            Unreachable: It has expired, and the server that renews it cannot be reached.
        """
        record = self.record()
        tokens = record.tokens if record else None
        if tokens is None:
            return {}
        if tokens.is_due():
            tokens = await self._renewed_in_time(tokens)
        return _bearer(tokens.access_token)

    def accepted(self, sent: Mapping[str, str]) -> None:
        """Know that what came of the last refusal is good: the next one is another matter."""
        if self._on_trial is not None and sent == _bearer(self._on_trial):
            self._on_trial, self._trial = None, _FIRST_TRIAL

    async def challenged(self, status: int, www_authenticate: str | None, sent: Mapping[str, str]) -> bool:
        """Do what can be done about a refusal without a person, and say whether to try once more.

        Raises:
            LoginNeeded: Only a person can help.
            Unreachable: The server that renews the login cannot be reached.
        """
        challenge = parse(www_authenticate)
        record = self.record()
        tokens = record.tokens if record else None
        if status == 403 and challenge.wants_more_scopes and record is not None and tokens is not None:
            return await self._needs_scopes(record, tokens, challenge, sent)
        if status != 401:
            return False
        if tokens is not None and _bearer(tokens.access_token) != sent:
            return True  # it was replaced since that request went out
        if tokens is None and not self._target.is_program:
            return await self._needs_login(challenge)
        return await self._after_refusal(tokens, challenge)

    async def begin_login(self, *, register_anew: bool = False) -> PendingLogin:
        """Begin a login by a person; while one is pending, that one. No browser is opened.

        Raises:
            LoginFailed: There is no login, or none to be trusted.
        """
        if self._pending is None or self._pending.is_over:
            self._pending = await begin(self._target, self._stored, self._learn, register_anew=register_anew)
        return self._pending

    def close(self) -> None:
        """Give up a login that is pending."""
        if self._pending is not None:
            self._pending.close()

    async def _renewed_in_time(self, tokens: Tokens) -> Tokens:
        try:
            return await self._renewal.renew(tokens.access_token)
        except LoginFailed as failure:
            if not tokens.has_expired():
                return tokens
            if isinstance(failure, Unreachable):
                raise Unreachable(f"the login has expired and could not be renewed: {failure}") from None
            raise self._needed() from None

    async def _after_refusal(self, tokens: Tokens | None, challenge: Challenge) -> bool:
        """Renew what was refused, unless it is itself what came of the last refusal."""
        if tokens is not None and tokens.access_token == self._on_trial:
            if time.time() < tokens.obtained_at + self._trial:
                raise self._needed("the server refuses what the login was renewed with")
            self._trial = min(2 * self._trial, _LONGEST_TRIAL)
        stale = tokens.access_token if tokens else None
        try:
            self._on_trial = (await self._renewal.renew(stale, challenge)).access_token
        except GrantGone:
            raise self._needed() from None
        except LoginFailed as failure:
            if isinstance(failure, Unreachable) or self._target.is_program:
                raise type(failure)(f"the login could not be renewed: {failure}") from None
            raise self._needed(str(failure)) from None
        return True

    async def _needs_scopes(
        self, record: Record, tokens: Tokens, challenge: Challenge, sent: Mapping[str, str]
    ) -> bool:
        missing = [scope for scope in challenge.scopes if scope not in tokens.scopes]
        if _bearer(tokens.access_token) != sent:
            return True
        if not missing:
            return False  # what it says it wants it has: no login would change that
        if self._target.is_program:
            return await self._after_refusal(tokens, challenge)
        await self._remember_scopes(record, challenge)
        raise self._needed(f"the server wants more permissions: {' '.join(missing)[:200]}")

    async def _remember_scopes(self, record: Record, challenge: Challenge) -> None:
        """Let the next login, which may be another program's, know what to ask for."""
        granted = record.tokens.scopes if record.tokens else ()
        wanted = tuple(dict.fromkeys((*granted, *record.wanted_scopes, *challenge.scopes)))
        if wanted == record.wanted_scopes:
            return
        try:
            async with self._stored.lock():
                current = self._stored.read()
                if current is not None:
                    self._stored.write(replace(current, wanted_scopes=wanted))
        except (OSError, LockBusy) as error:
            _log.warning("the permissions that a login lacks cannot be noted: %s", type(error).__name__)

    async def _needs_login(self, challenge: Challenge) -> bool:
        """Speak of a login only where there is one: a server may want a key in a header instead."""
        if not self._offers_login and challenge.resource_metadata is None:
            try:
                async with web() as connection:
                    await find(connection, self._target, challenge, guess=False)
            except NoLoginOffered:
                return False
            except LoginFailed as failure:
                raise self._needed(str(failure)) from None
        self._offers_login = True
        raise self._needed()

    def _needed(self, why: str | None = None) -> LoginNeeded:
        return LoginNeeded(self._target.needed + (f" ({why})" if why else ""), self.begin_login)


def _bearer(access_token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {access_token}"}
