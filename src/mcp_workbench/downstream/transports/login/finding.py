"""Finding out where and for what to log in, for a server that was or was not asked before."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from mcp.client.auth.utils import union_scopes

from mcp_workbench.downstream.transports.login.addresses import Allowed, host_of, shortened
from mcp_workbench.downstream.transports.login.challenge import Challenge, parse
from mcp_workbench.downstream.transports.login.discovery import Discovery, discover, guessed
from mcp_workbench.downstream.transports.login.problems import LoginFailed, NoLoginOffered
from mcp_workbench.downstream.transports.login.record import Record
from mcp_workbench.downstream.transports.login.target import Target
from mcp_workbench.downstream.transports.login.web import Web

# Begins no session and changes nothing, where the server takes it without a login.
_PROBE = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_ACCEPT = {"Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Reception:
    """What a server says to somebody who is not logged in."""

    status: int
    challenge: Challenge

    @property
    def is_refusal(self) -> bool:
        """Whether it wants a login, or other credentials."""
        return self.status in (401, 403)


async def reception_of(web: Web, target: Target) -> Reception:
    """Ask a server for something without a login.

    Raises:
        LoginFailed: It cannot be asked, or must not be: the headers of its entry would go to others too.
    """
    Allowed(target.url, insecure=target.allow_insecure).check(_without_user(target.url), "the server's address")
    answer = await web.post_json(target.url, _PROBE, {**target.headers, **_ACCEPT})
    if answer.status in (404, 405):  # as of a server that speaks the older transport, where the stream comes first
        answer = await web.get(target.url, {**target.headers, **_ACCEPT})
    refused = answer.status in (401, 403)
    return Reception(answer.status, parse(answer.headers.get("WWW-Authenticate") if refused else None))


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


async def find(web: Web, target: Target, challenge: Challenge, *, guess: bool = True) -> Discovery:
    """Find the authorization server; with `guess`, at the addresses of the first specification where none is published.

    Raises:
        LoginFailed: There is none, or none to be trusted.
    """
    allowed = Allowed(target.url, insecure=target.allow_insecure)
    try:
        return await discover(web, target.url, challenge, allowed)
    except NoLoginOffered:
        if not guess:
            raise
        return guessed(target.url, allowed)


def check_issuer(target: Target, discovery: Discovery, record: Record | None) -> None:
    """Keep the config's client secret with the authorization server that had it first.

    Raises:
        LoginFailed: The server names another one now.
    """
    issuer = discovery.server.issuer
    if target.client_secret is not None and record is not None and record.issuer != issuer:
        raise LoginFailed(
            f"{host_of(target.url)} now names another authorization server, {shortened(issuer)} instead of "
            f"{shortened(record.issuer)}, which would get the client secret; if that is right, run "
            f"{target.command.replace(' login ', ' logout ', 1)} first"
        )


def check_pkce(target: Target, discovery: Discovery) -> None:
    """Log in nowhere without PKCE.

    A server that does not say whether it has it counts as one without, as the specification wants; but for a client
    that somebody has registered there by hand, who knows the server: some large ones never say.

    Raises:
        LoginFailed: The authorization server does not support it.
    """
    server = discovery.server
    methods = server.challenge_methods
    unknown_is_fine = server.is_guessed or target.client_id is not None
    if "S256" not in (methods if methods is not None else ("S256",) if unknown_is_fine else ()):
        raise LoginFailed(f"{host_of(server.issuer)} does not support PKCE with S256, without which no login is safe")


def scopes_for(target: Target, challenge: Challenge, discovery: Discovery, record: Record | None) -> tuple[str, ...]:
    """What to ask for: the config's choice, else what the server demands, else what it lists; and to stay logged in."""
    chosen = target.scopes or challenge.scopes or discovery.resource_scopes
    more = [*(record.wanted_scopes if record else ())]
    if "offline_access" in discovery.server.scopes and not target.is_program:
        more.append("offline_access")
    return tuple((union_scopes(" ".join(chosen), " ".join(more)) or "").split())
