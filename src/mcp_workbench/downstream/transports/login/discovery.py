"""From a server's address to the authorization server that logs people in for it.

RFC 9728 says which authorization server that is, RFC 8414 and OpenID Connect say what it can do; servers of the first
MCP specification with a login (2025-03-26) are their own authorization server. Each document must be about what it
was asked about: metadata for another resource or of another issuer, or with an address that nothing should be sent
to, ends the login with the reason, before anything is sent there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
)
from mcp.shared.auth_utils import check_resource_allowed
from mcp_types import LATEST_PROTOCOL_VERSION

from mcp_workbench.downstream.transports.login.addresses import Allowed, host_of, shortened
from mcp_workbench.downstream.transports.login.challenge import Challenge
from mcp_workbench.downstream.transports.login.problems import LoginFailed, NoLoginOffered, Unreachable
from mcp_workbench.downstream.transports.login.web import Web

_HEADERS = {"MCP-Protocol-Version": LATEST_PROTOCOL_VERSION}


@dataclass(frozen=True)
class AuthorizationServer:
    """What an authorization server says of itself, as far as a login uses it. Every address has been checked."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    userinfo_endpoint: str | None = None
    scopes: tuple[str, ...] = ()
    auth_methods: tuple[str, ...] | None = None
    challenge_methods: tuple[str, ...] | None = None
    """How it takes PKCE; None where it does not say."""
    reads_client_documents: bool = False
    names_itself: bool = False
    """Whether it sends its issuer along with every code (RFC 9207)."""
    is_guessed: bool = False
    """It publishes nothing: these are the addresses that the first specification fixed."""


@dataclass(frozen=True)
class Discovery:
    """Where to log in, and for what."""

    server: AuthorizationServer
    resource: str
    resource_scopes: tuple[str, ...] = ()
    send_resource: bool = True


async def discover(web: Web, server_url: str, challenge: Challenge, allowed: Allowed) -> Discovery:
    """Find the authorization server of the server at `server_url`.

    Raises:
        NoLoginOffered: It publishes none. Those of the first specification may still have the fixed addresses:
            `guessed` has them.
        LoginFailed: What it publishes cannot be trusted.
        Unreachable: It could not be found out just now.
    """
    resource = await _resource_metadata(web, server_url, challenge, allowed)
    if resource is None:
        return Discovery(await _own_metadata(web, server_url, allowed), plain(server_url), send_resource=False)
    servers = _texts(resource.get("authorization_servers"))
    if not servers:
        raise LoginFailed(f"{host_of(server_url)} names no authorization server in its metadata")
    issuer = allowed.check(servers[0], f"the authorization server that {host_of(server_url)} names")
    server = await _issuer_metadata(web, issuer, server_url, allowed)
    return Discovery(server, str(resource["resource"]), _texts(resource.get("scopes_supported")))


def guessed(server_url: str, allowed: Allowed) -> Discovery:
    """The addresses that the specification of 2025-03-26 gives a server that publishes none."""
    base = origin_url(allowed.check(server_url, "the server's address"))
    server = AuthorizationServer(
        issuer=base,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        registration_endpoint=f"{base}/register",
        is_guessed=True,
    )
    return Discovery(server, plain(server_url), send_resource=False)


def plain(url: str) -> str:
    """The address as the name of a resource: without user, query and fragment, none of which belong in a name."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower(), parts.path, "", ""))


def origin_url(url: str) -> str:
    """Scheme, host and port of an address."""
    parts = urlsplit(plain(url))
    return f"{parts.scheme}://{parts.netloc}"


async def _resource_metadata(
    web: Web, server_url: str, challenge: Challenge, allowed: Allowed
) -> Mapping[str, Any] | None:
    named = challenge.resource_metadata
    if named is not None:
        allowed.check(named, f"the resource metadata that {host_of(server_url)} names")
    for url in build_protected_resource_metadata_discovery_urls(named, plain(server_url)):
        document = await _document(web, url)
        if document is None or "resource" not in document:
            continue
        resource = document["resource"]
        if not isinstance(resource, str) or not check_resource_allowed(plain(server_url), resource):
            raise LoginFailed(
                f"the metadata of {host_of(server_url)} is for another resource: {shortened(str(resource))}"
            )
        return document
    return None


async def _issuer_metadata(web: Web, issuer: str, server_url: str, allowed: Allowed) -> AuthorizationServer:
    for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, server_url):
        document = await _document(web, url)
        if document is not None and "issuer" in document:
            return _checked(document, issuer, allowed)
    raise LoginFailed(f"the authorization server {shortened(issuer)} publishes no metadata")


async def _own_metadata(web: Web, server_url: str, allowed: Allowed) -> AuthorizationServer:
    base = origin_url(allowed.check(plain(server_url), "the server's address"))
    for url in build_oauth_authorization_server_metadata_discovery_urls(base, server_url):
        document = await _document(web, url)
        if document is not None and "issuer" in document:
            return _checked(document, base, allowed)
    raise NoLoginOffered(f"{host_of(server_url)} publishes nothing about a login")


async def _document(web: Web, url: str) -> dict[str, Any] | None:
    """A metadata document, or None where there is none at this address."""
    answer = await web.get(url, _HEADERS)
    if answer.status >= 500 or answer.status == 429:
        # Says nothing about whether there is one, so it must not lead to the next guess.
        raise Unreachable(f"{host_of(url)} answered the question for its metadata with HTTP {answer.status}")
    return answer.json() if answer.status == 200 else None


def _checked(document: Mapping[str, Any], expected: str, allowed: Allowed) -> AuthorizationServer:
    issuer = document["issuer"]
    # Both spellings lead to the same document, so a slash at the end makes no other issuer.
    if not isinstance(issuer, str) or issuer.rstrip("/") != expected.rstrip("/"):
        raise LoginFailed(f"the metadata of {shortened(expected)} is of another issuer: {shortened(str(issuer))}")

    def endpoint(name: str) -> str | None:
        value = document.get(name)
        return None if value in (None, "") else allowed.check(value, f"the {name} of {shortened(issuer)}")

    token_endpoint = endpoint("token_endpoint")
    if token_endpoint is None:
        raise LoginFailed(f"the metadata of {shortened(issuer)} names no token_endpoint")
    return AuthorizationServer(
        issuer=issuer,
        token_endpoint=token_endpoint,
        authorization_endpoint=endpoint("authorization_endpoint"),
        registration_endpoint=endpoint("registration_endpoint"),
        revocation_endpoint=endpoint("revocation_endpoint"),
        userinfo_endpoint=endpoint("userinfo_endpoint"),
        scopes=_texts(document.get("scopes_supported")),
        auth_methods=_optional_texts(document.get("token_endpoint_auth_methods_supported")),
        challenge_methods=_optional_texts(document.get("code_challenge_methods_supported")),
        reads_client_documents=document.get("client_id_metadata_document_supported") is True,
        names_itself=document.get("authorization_response_iss_parameter_supported") is True,
    )


def _optional_texts(value: object) -> tuple[str, ...] | None:
    return _texts(cast("object", value)) if isinstance(value, list) else None


def _texts(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))
