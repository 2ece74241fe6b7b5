"""Becoming a client of an authorization server: the one that the config names, or one that is registered now."""

from mcp_workbench.downstream.transports.login.addresses import host_of
from mcp_workbench.downstream.transports.login.discovery import AuthorizationServer
from mcp_workbench.downstream.transports.login.problems import LoginFailed, NoLoginOffered
from mcp_workbench.downstream.transports.login.record import Client
from mcp_workbench.downstream.transports.login.target import Target
from mcp_workbench.downstream.transports.login.tokens import number, rejection
from mcp_workbench.downstream.transports.login.web import Web

_METHODS = ("none", "client_secret_basic", "client_secret_post")


def named_client(target: Target, server: AuthorizationServer) -> Client | None:
    """The client that the config names, unless its id is a document's address that this server would not read."""
    client = target.fixed_client(server.auth_methods)
    if client is None or not client.client_id.startswith("https://"):
        return client
    return None if server.registration_endpoint and not server.reads_client_documents else client


async def register(web: Web, server: AuthorizationServer, redirect_uri: str, scopes: tuple[str, ...]) -> Client:
    """Register with an authorization server (RFC 7591).

    Raises:
        NoLoginOffered: It registers nobody.
        LoginFailed: It refuses, or its answer makes no client.
    """
    if server.registration_endpoint is None:
        raise NoLoginOffered(
            f"{host_of(server.issuer)} lets no program register itself: create an OAuth client there, and give its id "
            'in the config as "oauth": {"clientId": "…", "callbackPort": 8765} with the redirect address '
            "http://localhost:8765/callback"
        )
    answer = await web.post_json(server.registration_endpoint, _request(server, redirect_uri, scopes))
    body = answer.json()
    if server.is_guessed and answer.status in (401, 403, 404, 405):
        raise NoLoginOffered(
            f"{host_of(server.issuer)} wants credentials and publishes no login: it may want a token in the headers of "
            "its entry in the config"
        )
    if answer.status not in (200, 201):
        raise rejection(answer, "the registration", ())
    client_id = body.get("client_id") if body else None
    if body is None or not isinstance(client_id, str) or not client_id:
        raise LoginFailed(f"{host_of(server.registration_endpoint)} answered the registration without a client id")
    secret, expiry = body.get("client_secret"), number(body.get("client_secret_expires_at"))
    return Client(
        client_id=client_id,
        client_secret=secret if isinstance(secret, str) and secret else None,
        auth_method=_assigned_method(server, body.get("token_endpoint_auth_method"), bool(secret)),
        redirect_uri=redirect_uri,
        scopes=scopes,
        secret_expires_at=expiry if secret else None,
    )


def _request(server: AuthorizationServer, redirect_uri: str, scopes: tuple[str, ...]) -> dict[str, object]:
    supported = server.auth_methods
    method = next((method for method in _METHODS if supported is None or method in supported), "none")
    request: dict[str, object] = {
        "client_name": "MCP Workbench",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native",
    }
    return {**request, "scope": " ".join(scopes)} if scopes else request


def _assigned_method(server: AuthorizationServer, method: object, has_secret: bool) -> str:
    """The method that the server chose for us; it may replace the one that was asked for."""
    if method is None or method == "":
        return "client_secret_basic" if has_secret else "none"
    if method not in _METHODS:
        raise LoginFailed(f"{host_of(server.issuer)} wants clients to authenticate in a way that is not supported here")
    if method != "none" and not has_secret:
        raise LoginFailed(f"{host_of(server.issuer)} registered a client with a secret, and gave none")
    return str(method)
