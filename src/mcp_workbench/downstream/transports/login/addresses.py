"""Which addresses a login may lead to.

A server names its authorization server, and that one names its endpoints: all of it is another's word. Only https is
believed, and plain http to loopback where the server itself is on loopback; a server elsewhere cannot point us at
what listens on this machine.
"""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from mcp_workbench.downstream.transports.login.problems import LoginFailed
from mcp_workbench.hidden_characters import shown


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine."""
    host = _parts(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class Allowed:
    """What the server at `server_url` may send us to."""

    def __init__(self, server_url: str, *, insecure: bool = False) -> None:
        self._plain_loopback = is_loopback(server_url)
        self._insecure = insecure

    def check(self, url: object, what: str) -> str:
        """Return the address.

        Raises:
            LoginFailed: It is not one to send anything to; `what` says whose it is.
        """
        if not isinstance(url, str):
            raise LoginFailed(f"{what} is not an address")
        parts = _parts(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise LoginFailed(f"{what} is not an https address: {shortened(url)}")
        if parts.scheme == "http" and not self._insecure and not (self._plain_loopback and is_loopback(url)):
            raise LoginFailed(f"{what} is not an https address: {shortened(url)}")
        if is_loopback(url) and not self._plain_loopback:
            raise LoginFailed(f"{what} leads to this machine: {shortened(url)}")
        return url


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port, the last filled in where the address leaves it out."""
    parts = _parts(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def host_of(url: str) -> str:
    """Host and port, for messages."""
    return _parts(url).netloc.rpartition("@")[2]


def shortened(url: str) -> str:
    """An address for messages: without its user, query and fragment, which may hold anything."""
    kept = url.partition("#")[0].partition("?")[0]
    scheme, separator, rest = kept.partition("://")
    host, slash, path = rest.partition("/")
    return shown(f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}")[:200]


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for what is no number
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts
