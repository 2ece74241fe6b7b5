"""Requests to one remote server, and to it alone.

Every request goes to the origin of the configured URL (or to the same host by https, where the server says so), so no
credential can reach another: a redirect that leads elsewhere is not followed, and its reason names where. Requests are
independent of each other: each has a connection of its own, taken from those that are idle or made anew, and nothing is
held while one is under way.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import anyio

from mcp_workbench.downstream.transports.authorization import Authorization
from mcp_workbench.downstream.transports.http_connections import Connections, Response
from mcp_workbench.downstream.transports.http_errors import HttpFailed, describe_redirect
from mcp_workbench.downstream.transports.proxies import is_loopback
from mcp_workbench.downstream.transports.transport import TransportFailed
from mcp_workbench.downstream.transports.web_address import Address, credentials_in, parse_address
from mcp_workbench.redaction import Redactor

_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_KEEPING_METHOD = (307, 308)

_MAX_REFUSALS = 2
"""The second one tells whether the credentials that came of the first are any better."""

_SMALL = 64 * 1024


class HttpClient:
    """Sends requests to one server, with its credentials. Made by `open_client`."""

    def __init__(
        self,
        address: Address,
        headers: Mapping[str, str],
        *,
        authorization: Authorization | None,
        allow_insecure: bool,
        redact: Redactor,
    ) -> None:
        self.address = address
        """Where requests go unless they name another place; follows redirects within the origin."""
        self._origin = address
        self._headers = headers
        self._authorization = authorization
        self._may_be_insecure = allow_insecure or address.scheme == "https" or is_loopback(address.host)
        self._redact = redact
        self._connections = Connections(address)
        if headers:
            self._refuse_insecure()

    def resolve(self, location: str) -> Address:
        """An address that the server named, which must be within its origin.

        Raises:
            HttpFailed: It is not.
        """
        address = self._located(self.address, location)
        if address.origin != self.address.origin:
            raise HttpFailed("it names an address of another origin for its messages, which gets no credentials")
        return address

    @asynccontextmanager
    async def request(
        self, method: str, headers: Mapping[str, str], content: bytes = b"", address: Address | None = None
    ) -> AsyncGenerator[Response]:
        """Send a request, and have its response until the block ends.

        Redirects within the origin are followed, and one that the server refuses for its credentials is sent again if
        there are better ones: in both cases the server did not take it.

        Raises:
            HttpFailed: There is no response.
            LoginNeeded: A person must log in first.
        """
        refusals = 0
        redirects = 0
        while True:
            credentials = await self._credentials()
            target = address or self.address
            sent = {**headers, **self._headers, **credentials}
            async with self._connections.exchange(method, target, sent, content) as response:
                if refusals < _MAX_REFUSALS and await self._has_better(response, credentials):
                    refusals += 1
                elif (following := self._following(method, target, response)) is not None:
                    redirects += 1
                    if redirects > _MAX_REDIRECTS:
                        raise HttpFailed("too many redirects")
                    address = following if address else None
                    self.address = self.address if address else following
                else:
                    if self._authorization is not None and response.status < 400:
                        self._authorization.accepted(credentials)
                    yield response
                    return
                await response.read_beginning(_SMALL)  # the connection is of use again only when all is read

    async def close(self) -> None:
        """Close what is left; requests must have ended."""
        await self._connections.close()

    async def _credentials(self) -> Mapping[str, str]:
        if self._authorization is None:
            return {}
        credentials = await self._authorization.headers()
        if credentials:
            self._refuse_insecure()
        return credentials

    def _refuse_insecure(self) -> None:
        if not self._may_be_insecure:
            raise TransportFailed(
                "its credentials would go over plain http, where anybody on the way can read them: use https, "
                'or say "allowInsecure": true in its entry'
            )

    async def _has_better(self, response: Response, sent: Mapping[str, str]) -> bool:
        """Whether a request that was refused for its credentials is worth sending again."""
        if self._authorization is None or response.status not in (401, 403):
            return False
        challenge = response.headers.get("www-authenticate")
        if response.status == 403 and "insufficient_scope" not in (challenge or ""):
            return False
        return await self._authorization.challenged(response.status, challenge, sent)

    def _following(self, method: str, sent_to: Address, response: Response) -> Address | None:
        """Where a redirect leads that may be followed; None for every other response.

        Raises:
            HttpFailed: It is a redirect that must not be followed.
        """
        location = response.headers.get("location")
        if response.status not in _REDIRECTS or location is None:
            return None
        address = self._located(sent_to, location)
        within = address.origin == sent_to.origin or address.is_upgrade_of(sent_to)
        if not within or (method != "GET" and response.status not in _KEEPING_METHOD):
            shown = urljoin(f"{sent_to.scheme}://{sent_to.name}{sent_to.target}", location)
            raise HttpFailed(describe_redirect(shown, self._redact, same_origin=within))
        return address

    def _located(self, base: Address, location: str) -> Address:
        try:
            return parse_address(urljoin(f"{base.scheme}://{base.name}{base.target}", location))
        except (TransportFailed, ValueError):
            raise HttpFailed("it redirects to something that is not an address") from None


@asynccontextmanager
async def open_client(
    url: str,
    headers: Mapping[str, str],
    *,
    authorization: Authorization | None,
    allow_insecure: bool,
    redact: Redactor,
) -> AsyncGenerator[HttpClient]:
    """A client for one server; when the block is left none of its connections remains.

    Raises:
        TransportFailed: Requests must not, or cannot, be sent to this URL.
    """
    own = {name.lower(): value for name, value in headers.items()}
    client = HttpClient(
        parse_address(url),
        {**credentials_in(url), **own},
        authorization=authorization,
        allow_insecure=allow_insecure,
        redact=redact,
    )
    try:
        yield client
    finally:
        with anyio.CancelScope(shield=True):
            await client.close()
