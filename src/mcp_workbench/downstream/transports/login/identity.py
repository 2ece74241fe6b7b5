"""Who is logged in, as far as the authorization server says so by itself."""

from collections.abc import Mapping
from typing import Any

from mcp_workbench.downstream.transports.login.addresses import origin
from mcp_workbench.downstream.transports.login.discovery import AuthorizationServer
from mcp_workbench.downstream.transports.login.problems import LoginFailed
from mcp_workbench.downstream.transports.login.tokens import Granted
from mcp_workbench.downstream.transports.login.web import Web
from mcp_workbench.hidden_characters import shown_in_line

_NAMES = ("email", "preferred_username", "nickname", "name", "sub")
_LONGEST = 100


async def who(web: Web, server: AuthorizationServer, granted: Granted) -> str | None:
    """A name for the person: from the id token, or from the server's own page about users. Never fails a login."""
    name = _name(granted.claims)
    if name is not None and name != granted.claims.get("sub"):
        return name
    return await _asked(web, server, granted) or name


async def _asked(web: Web, server: AuthorizationServer, granted: Granted) -> str | None:
    endpoint = server.userinfo_endpoint
    # The token goes to nobody but the issuer, and only where it was asked to tell who the user is.
    if endpoint is None or "openid" not in granted.tokens.scopes or origin(endpoint) != origin(server.issuer):
        return None
    try:
        answer = await web.get(endpoint, {"Authorization": f"Bearer {granted.tokens.access_token}"})
    except LoginFailed:
        return None
    return _name(answer.json() or {}) if answer.status == 200 else None


def _name(claims: Mapping[str, Any]) -> str | None:
    found = (claims.get(name) for name in _NAMES)
    return next((shown_in_line(name)[:_LONGEST] for name in found if isinstance(name, str) and name.strip()), None)
