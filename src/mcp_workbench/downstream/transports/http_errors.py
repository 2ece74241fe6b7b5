"""Why a remote server could not be reached or did not answer, in sentences that a person can use.

None of them quotes a header, a query or a password. What a server wrote itself may be quoted (the first line of an
error's body, the title of a web page), and passes the redactor first, since servers do repeat what they were sent.
"""

import errno
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import cast
from urllib.parse import urlsplit

import httpcore2

from mcp_workbench.redaction import Redactor

_QUOTED = 200
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_PAGE = re.compile(rb"\s*(<!doctype html|<html|<head|<body|<!--)", re.IGNORECASE)

_UNTRUSTED = "set SSL_CERT_FILE to the certificate of the authority that signed it, if you trust it"


class HttpFailed(Exception):
    """A request that got no response; `str()` is the reason a person reads."""

    def __init__(self, reason: str, *, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.unreachable = unreachable
        """There was not even a connection, so the server saw nothing of the request."""


def describe_failure(error: Exception, host: str, proxy: str | None) -> HttpFailed:
    """What a failed connection or a broken one means, given whom it was for and which proxy leads there."""
    if isinstance(error, httpcore2.ProxyError):
        return HttpFailed(f"the proxy {proxy} refuses to connect to '{host}': {error}", unreachable=True)
    if isinstance(error, httpcore2.ConnectError | httpcore2.ConnectTimeout | httpcore2.PoolTimeout):
        return HttpFailed(_connecting(error, host, proxy), unreachable=True)
    if isinstance(error, httpcore2.LocalProtocolError):
        # Its message would quote the header.
        return HttpFailed("a header of its entry in the config cannot be sent: it holds characters that no header may")
    if isinstance(error, httpcore2.RemoteProtocolError):
        return HttpFailed(_protocol_error(str(error)))
    if isinstance(error, httpcore2.TimeoutException):
        return HttpFailed("it stopped taking what it was sent")
    return HttpFailed("the connection to it broke off")


def _connecting(error: Exception, host: str, proxy: str | None) -> str:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return _tls_problem(cause)
    # Whose name and port were tried: the proxy's, where there is one.
    whom = f"the proxy {proxy}" if proxy else f"'{host}'"
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return f"unknown host: {whom} (check the name, and the network)"
    for cause in causes:
        if isinstance(cause, ConnectionRefusedError):
            return f"connection refused by {whom} (is the server running, and is the port right?)"
        if isinstance(cause, OSError) and cause.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
            return f"no way to {whom}: the network cannot be reached"
    if isinstance(error, httpcore2.ConnectTimeout):
        return f"no connection to {whom}: it does not answer"
    return f"no connection to {whom}: it closed the connection at once"


def _tls_problem(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = error.verify_message.rstrip(".")
        unknown = any(words in problem for words in ("issuer", "self-signed", "self signed"))
        advice = f" ({_UNTRUSTED})" if unknown else ""
        return f"its TLS certificate is not accepted: {problem}{advice}"
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_EOF_WHILE_READING", "RECORD_LAYER_FAILURE"):
        return "the TLS handshake failed: it does not seem to speak TLS (is the address http:// rather than https://?)"
    return f"the TLS handshake failed: {(error.reason or 'unknown problem').replace('_', ' ').lower()}"


def _protocol_error(detail: str) -> str:
    if "without sending a response" in detail:
        return "it closed the connection without a response"
    if "closed connection without sending complete message body" in detail or "incomplete chunked read" in detail:
        return "it closed the connection in the middle of its response"
    if "too large" in detail or "exceeded" in detail or "buffer" in detail:
        return "it sent headers without end"
    return "what it sent is not HTTP"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what caused it, and every member of the groups among these."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        cause = pending.pop(0)
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        pending += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            pending += cast("BaseExceptionGroup[BaseException]", cause).exceptions


def describe_status(status: int, headers: Mapping[str, str], body: bytes, redact: Redactor) -> str:
    """What a response that is not a success means."""
    name = _named(status)
    match status:
        case 401:
            return f"{name}: it wants credentials, or does not accept those it was sent"
        case 403:
            return f"{name}: the credentials do not allow this{_quote(headers, body, redact)}"
        case 404:
            return f"{name}: there is nothing at this address (check the path of the URL)"
        case 407:
            return f"{name}: the proxy wants a user and a password in its address"
        case 429:
            return f"{name}{_retry_after(headers) or '; wait before the next try'}"
        case _:
            return f"{name}{_retry_after(headers)}{_quote(headers, body, redact)}"


def describe_page(headers: Mapping[str, str], body: bytes, redact: Redactor) -> str:
    """What a response means that holds neither JSON nor events."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if _is_page(headers, body):
        titled = _TITLE.search(body)
        title = _line(titled[1], redact) if titled else ""
        quoted = f" ('{title}')" if title else ""
        return (
            f"it sent a web page{quoted} where JSON was due "
            "(a wrong URL, or a network or proxy that wants a login in the browser first?)"
        )
    sent = f"'{redact.beginning(kind, 60)}'" if kind else "something without a content type"
    return f"it sent {sent} where JSON was due"


def describe_redirect(location: str, redact: Redactor, *, same_origin: bool) -> str:
    """Why a redirect was not followed; the location is shown without its query and whoever it names."""
    parts = urlsplit(location)
    port = f":{parts.port}" if parts.port else ""
    shown = redact.beginning(f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}", _QUOTED)
    if same_origin:
        return f"it redirects to {shown} in a way that would lose the request; use that address as the URL"
    return (
        f"it redirects to {shown}, which is another origin and gets no credentials; "
        "use that address as the URL if it is the right one"
    )


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP status {status}"


def _retry_after(headers: Mapping[str, str]) -> str:
    wait = headers.get("retry-after", "").strip()
    if wait.isdigit() and len(wait) < 7:  # more would be months
        return f"; it asks to wait {wait} s"
    return f"; it asks to wait until {wait}" if re.fullmatch(r"[A-Za-z]{3}, [\w :]{20,30}", wait) else ""


def _quote(headers: Mapping[str, str], body: bytes, redact: Redactor) -> str:
    if _is_page(headers, body):
        titled = _TITLE.search(body)
        line = _line(titled[1], redact) if titled else ""
    else:
        line = next((line for line in (_line(raw, redact) for raw in body.splitlines()[:20]) if line), "")
    return f": {line}" if line else ""


def _is_page(headers: Mapping[str, str], body: bytes) -> bool:
    return "html" in headers.get("content-type", "").lower() or _PAGE.match(body) is not None


def _line(raw: bytes, redact: Redactor) -> str:
    """One line of what a server wrote, short, without secrets and control characters."""
    text = redact.beginning(" ".join(raw.decode(errors="replace").split()), _QUOTED)
    return "".join(character if character.isprintable() else "?" for character in text)
