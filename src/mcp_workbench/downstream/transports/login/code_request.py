"""Asking a person for permission: the address to visit, and what comes back from there.

Every request has a state and a PKCE verifier of its own. What comes back counts only with that state, and only from
the issuer that was asked (RFC 9207).
"""

import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mcp.client.auth.oauth2 import PKCEParameters

from mcp_workbench.downstream.transports.login.addresses import host_of
from mcp_workbench.downstream.transports.login.discovery import Discovery
from mcp_workbench.downstream.transports.login.problems import LoginFailed, Rejected
from mcp_workbench.downstream.transports.login.record import Client
from mcp_workbench.hidden_characters import shown_in_line


class NotOurs(Exception):
    """A redirect that does not belong to the request: it changes nothing."""


@dataclass(frozen=True)
class CodeRequest:
    """One request for permission."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str
    scopes: tuple[str, ...]
    issuer: str
    expects_issuer: bool

    def code_in(self, query: str) -> str:
        """Return the code that a redirect brings.

        Raises:
            NotOurs: It is not an answer to this request.
            LoginFailed: It is, and says no; or it comes from another issuer.
        """
        found = dict(parse_qsl(query, keep_blank_values=True))
        if not secrets.compare_digest(found.get("state", "").encode(), self.state.encode()):
            raise NotOurs
        issuer = found.get("iss")
        if (issuer is None and self.expects_issuer) or (issuer is not None and issuer != self.issuer):
            raise LoginFailed(f"the answer to the login does not come from {host_of(self.issuer)}, which was asked")
        if "error" in found:
            description = found.get("error_description")
            text = shown_in_line(description)[:200] if description else None
            raise Rejected.by(host_of(self.issuer), shown_in_line(found["error"])[:60], text)
        if not found.get("code"):
            raise LoginFailed(f"{host_of(self.issuer)} sent the browser back without a code")
        return found["code"]


def code_request(discovery: Discovery, client: Client, redirect_uri: str, scopes: tuple[str, ...]) -> CodeRequest:
    """Make a request for these scopes.

    Raises:
        LoginFailed: The authorization server has no page to log in at.
    """
    server = discovery.server
    if server.authorization_endpoint is None:
        raise LoginFailed(f"{host_of(server.issuer)} names no authorization_endpoint: nobody can log in there")
    pkce, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": pkce.code_challenge,
        "code_challenge_method": "S256",
    }
    if discovery.send_resource:
        query["resource"] = discovery.resource
    if scopes:
        query["scope"] = " ".join(scopes)
    if "offline_access" in scopes:
        query["prompt"] = "consent"  # OpenID Connect gives no refresh token otherwise
    return CodeRequest(
        url=_with_query(server.authorization_endpoint, query),
        state=state,
        verifier=pkce.code_verifier,
        redirect_uri=redirect_uri,
        scopes=scopes,
        issuer=server.issuer,
        expects_issuer=server.names_itself,
    )


def _with_query(url: str, query: dict[str, str]) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, urlencode(query)))), fragment=""))
