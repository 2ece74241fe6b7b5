"""A login by a person, from the address to visit to the tokens on disk.

Nobody has to wait for it: when the person comes back to the loopback address, that visit fetches the tokens and stores
them. It ends by itself after ten minutes. No browser is opened here; whoever began it shows the address.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import anyio

from mcp_workbench.downstream.transports.login.addresses import host_of
from mcp_workbench.downstream.transports.login.callback import Callback, PortTaken
from mcp_workbench.downstream.transports.login.code_request import CodeRequest, NotOurs, code_request
from mcp_workbench.downstream.transports.login.discovery import Discovery
from mcp_workbench.downstream.transports.login.file_lock import LockBusy
from mcp_workbench.downstream.transports.login.finding import (
    Reception,
    check_issuer,
    check_pkce,
    find,
    reception_of,
    scopes_for,
)
from mcp_workbench.downstream.transports.login.identity import who
from mcp_workbench.downstream.transports.login.problems import LoginFailed, NoLoginOffered
from mcp_workbench.downstream.transports.login.record import Client, Record
from mcp_workbench.downstream.transports.login.registration import named_client, register
from mcp_workbench.downstream.transports.login.store import StoredLogin
from mcp_workbench.downstream.transports.login.target import Target
from mcp_workbench.downstream.transports.login.tokens import request_tokens
from mcp_workbench.downstream.transports.login.web import Web, web

_MINUTES = 10

Learn = Callable[[Iterable[str]], object]


class PendingLogin:
    """A login that waits for its person."""

    def __init__(
        self, request: CodeRequest, discovery: Discovery, client: Client, callback: Callback, stored: StoredLogin,
        learn: Learn,
    ) -> None:  # fmt: skip
        self.url: Final = request.url
        """Where the person logs in. It holds no secret, but only its person should visit it."""
        self._request = request
        self._discovery = discovery
        self._client = client
        self._callback = callback
        self._stored = stored
        self._learn = learn
        self._begun = False
        self._ended = anyio.Event()
        self._failure: LoginFailed | None = None
        callback.deliver_to(self.redirected)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(
            _MINUTES * 60, self._end, LoginFailed(f"nobody logged in within {_MINUTES} minutes")
        )

    @property
    def is_over(self) -> bool:
        """Whether it came to an end, good or bad."""
        return self._ended.is_set()

    @property
    def comes_back_to(self) -> str:
        """The loopback address that the browser is sent to at the end."""
        return self._request.redirect_uri

    async def wait(self) -> None:
        """Wait until the login is done. Any number may wait, and may stop waiting.

        Raises:
            LoginFailed: It was refused, went wrong, or nobody came.
        """
        await self._ended.wait()
        if self._failure is not None:
            raise LoginFailed(str(self._failure))

    async def redirected(self, query: str) -> None:
        """Take the query of the address that the browser was sent to, and finish the login.

        Raises:
            NotOurs: The address does not belong to this login, which goes on.
            LoginFailed: The login is over, and failed.
        """
        try:
            code = self._request.code_in(query)
            if not self._begun:
                self._begun = True
                await self._finish(code)
        except LoginFailed as failure:
            self._end(failure)
        await self.wait()

    async def pasted(self, address: str) -> None:
        """Take an address that a person copied out of the browser; the rest is as for `redirected`."""
        query = urlsplit(address.strip()).query
        if not query:
            raise NotOurs
        await self.redirected(query)

    def close(self) -> None:
        """Give the login up, if it is not over."""
        self._end(LoginFailed("the login was given up"))

    async def _finish(self, code: str) -> None:
        request, server = self._request, self._discovery.server
        self._learn([code, request.verifier])
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": request.redirect_uri,
            "code_verifier": request.verifier,
        }
        if self._discovery.send_resource:
            form["resource"] = self._discovery.resource
        async with web() as connection:
            granted = await request_tokens(connection, server.token_endpoint, self._client, form, asked=request.scopes)
            self._learn(filter(None, (granted.tokens.access_token, granted.tokens.refresh_token)))
            name = await who(connection, server, granted)
        registered = self._client if self._client.redirect_uri is not None else None
        record = record_of(self._discovery, registered)
        await save(self._stored, replace(record, tokens=granted.tokens, who=name))
        self._end(None)

    def _end(self, failure: LoginFailed | None) -> None:
        if not self._ended.is_set():
            self._failure = failure
            self._ended.set()
            self._timer.cancel()
            self._callback.close()


async def begin(target: Target, stored: StoredLogin, learn: Learn, *, register_anew: bool = False) -> PendingLogin:
    """Prepare a login: find out where, become a client there, and listen for the person to come back.

    Args:
        target: The server.
        stored: Where the login will be kept.
        learn: Told of every secret before it could be written anywhere.
        register_anew: Do not use the client that an earlier login registered: its server may have forgotten it.

    Raises:
        LoginFailed: There is no login, or none to be trusted.
    """
    record = stored.read()
    async with web() as connection:
        reception = await reception_of(connection, target)
        challenge = reception.challenge
        discovery = await _found(connection, target, reception)
        check_issuer(target, discovery, record)
        check_pkce(target, discovery)
        scopes = scopes_for(target, challenge, discovery, record)
        known = None if register_anew else _registered_before(discovery, record, scopes)
        callback = await _listen(target, known)
        try:
            if known is not None and known.redirect_uri != callback.redirect_uri:
                known = None
            client = named_client(target, discovery.server) or known
            if client is None:
                client = await register(connection, discovery.server, callback.redirect_uri, scopes)
            learn([client.client_secret] if client.client_secret else [])
            request = code_request(discovery, client, callback.redirect_uri, scopes)
        except BaseException:
            callback.close()
            raise
    return PendingLogin(request, discovery, client, callback, stored, learn)


async def _found(connection: Web, target: Target, reception: Reception) -> Discovery:
    """Where to log in. Addresses are guessed only for a server that wants a login and does not say where."""
    guess = reception.is_refusal or target.is_configured
    try:
        return await find(connection, target, reception.challenge, guess=guess)
    except NoLoginOffered:
        if reception.status < 300:
            raise NoLoginOffered(f"{host_of(target.url)} lets everybody in, and publishes no login") from None
        raise


def record_of(discovery: Discovery, client: Client | None) -> Record:
    """What there is to remember of a login beside its tokens."""
    return Record(
        resource=discovery.resource,
        issuer=discovery.server.issuer,
        token_endpoint=discovery.server.token_endpoint,
        revocation_endpoint=discovery.server.revocation_endpoint,
        send_resource=discovery.send_resource,
        client=client,
        auth_methods=discovery.server.auth_methods,
    )


async def save(stored: StoredLogin, record: Record) -> None:
    """Store a login that was just made.

    Raises:
        LoginFailed: It cannot be stored, so it would be lost at once.
    """
    try:
        async with stored.lock():
            stored.write(record)
    except LockBusy:
        raise LoginFailed("another mcp-workbench is changing this login; try again") from None
    except OSError as error:
        raise LoginFailed(f"the login cannot be stored in {stored.path.parent}: {error.strerror}") from None


def _registered_before(discovery: Discovery, record: Record | None, scopes: tuple[str, ...]) -> Client | None:
    client = record.client if record else None
    if record is None or client is None or record.client_is_stale or not client.is_usable():
        return None
    return client if record.issuer == discovery.server.issuer and set(scopes) <= set(client.scopes) else None


async def _listen(target: Target, known: Client | None) -> Callback:
    """Listen where a registered client is known to come back to, if that is still possible."""
    if target.callback_port is not None:
        # The name that people register by hand, since that is how other clients' manuals write it.
        return await Callback.listen("localhost", target.callback_port)
    if known is not None and known.redirect_uri is not None:
        with contextlib.suppress(PortTaken):
            return await Callback.listen("127.0.0.1", urlsplit(known.redirect_uri).port or 0)
    return await Callback.listen("127.0.0.1", 0)
