"""Talking to a token endpoint: codes, refresh tokens and client credentials against tokens, and their revocation."""

import base64
import json
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote

from mcp_workbench.downstream.transports.login.addresses import host_of
from mcp_workbench.downstream.transports.login.problems import LoginFailed, Rejected, Unreachable
from mcp_workbench.downstream.transports.login.record import Client, Tokens
from mcp_workbench.downstream.transports.login.web import Answer, Web
from mcp_workbench.hidden_characters import shown_in_line
from mcp_workbench.redaction import Redactor

_LONGEST_DESCRIPTION = 200
_SECRET_FIELDS = ("code", "code_verifier", "refresh_token")
_LONGEST_LIFE = 10 * 365 * 24 * 3600


@dataclass(frozen=True)
class Granted:
    """Tokens, and what else the token endpoint said of whom they stand for."""

    tokens: Tokens
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


async def request_tokens(
    web: Web,
    endpoint: str,
    client: Client,
    form: Mapping[str, str],
    *,
    before: Tokens | None = None,
    asked: tuple[str, ...] = (),
) -> Granted:
    """Send a grant. What the answer leaves out is as it was `before`; without that, the scopes are those `asked` for.

    Raises:
        Rejected: The authorization server says no.
        Unreachable: It could not be asked, or cannot answer just now.
        LoginFailed: Its answer holds no token.
    """
    authenticated, headers = _authenticated(client, form)
    answer = await web.post_form(endpoint, authenticated, headers)
    if answer.status not in (200, 201):
        sent = [form[name] for name in _SECRET_FIELDS if name in form]
        raise rejection(answer, "the request for a token", [*sent, client.client_secret or ""])
    return _granted(answer, before, asked)


async def revoke(web: Web, endpoint: str, client: Client, token: str, kind: str) -> bool:
    """Ask for a token to be made worthless (RFC 7009), and say whether that was agreed to."""
    form, headers = _authenticated(client, {"token": token, "token_type_hint": kind})
    answer = await web.post_form(endpoint, form, headers)
    if answer.status == 400 and "client_secret" not in form:
        # The SDK's servers (2.3) want the field, whatever the client authenticates with.
        answer = await web.post_form(endpoint, {**form, "client_secret": client.client_secret or ""}, headers)
    return answer.status == 200


def rejection(answer: Answer, what: str, secrets: Iterable[str]) -> LoginFailed:
    """What an answer with a bad status means. What was sent in secret is not repeated, even where the answer does."""
    host = host_of(answer.url)
    body = answer.json() or {}
    error, description = body.get("error"), body.get("error_description")
    if answer.status >= 500 or answer.status in (408, 429):
        return Unreachable(f"{host} answered {what} with HTTP {answer.status}")
    if isinstance(error, str) and 400 <= answer.status < 500:
        hide = Redactor(secrets)
        text = shown_in_line(hide(description))[:_LONGEST_DESCRIPTION] if isinstance(description, str) else None
        return Rejected.by(host, shown_in_line(hide(error))[:60], text)
    if 300 <= answer.status < 400:
        return LoginFailed(f"{host} redirects {what} to another address, which is not followed")
    return LoginFailed(f"{host} answered {what} with HTTP {answer.status}")


def _authenticated(client: Client, form: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    named = {**form, "client_id": client.client_id}  # beside a header too: the SDK's servers look for it here alone
    if client.auth_method == "client_secret_basic" and client.client_secret is not None:
        pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
        return named, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    if client.auth_method == "client_secret_post" and client.client_secret is not None:
        named["client_secret"] = client.client_secret
    return named, {}


def _granted(answer: Answer, before: Tokens | None, asked: tuple[str, ...]) -> Granted:
    body = answer.json() or {}
    access, refresh, scope = body.get("access_token"), body.get("refresh_token"), body.get("scope")
    host = host_of(answer.url)
    if not isinstance(access, str) or not access or not access.isascii() or not access.isprintable():
        raise LoginFailed(f"{host} answered the request for a token without one")
    if str(body.get("token_type", "Bearer")).lower() != "bearer":
        raise LoginFailed(f"{host} gave a token of a type that is not supported here")
    now = time.time()
    tokens = Tokens(
        access_token=access,
        refresh_token=refresh if isinstance(refresh, str) and refresh else (before.refresh_token if before else None),
        obtained_at=now,
        expires_at=_expiry(body.get("expires_in"), now),
        scopes=tuple(scope.split()) if isinstance(scope, str) else (before.scopes if before else asked),
    )
    return Granted(tokens, _claims(body.get("id_token")))


def _expiry(seconds: object, now: float) -> float | None:
    life = number(seconds)
    return now + min(life, _LONGEST_LIFE) if life is not None and life > 0 else None


def number(value: object) -> float | None:
    """A number of JSON that makes sense as one, or a text that holds it; None for anything else."""
    try:
        found = float(cast("float | str", value))
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _claims(id_token: object) -> dict[str, Any]:
    """What an id token says. It came from the token endpoint itself, which vouches for it as its signature would."""
    try:
        payload = str(id_token).split(".")[1]
        value: object = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
