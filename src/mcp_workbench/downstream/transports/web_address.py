"""The addresses of remote servers, in the parts that decide where a request goes and what may go there."""

from base64 import b64encode
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from mcp_workbench.downstream.transports.transport import TransportFailed

_IN_PATH = "/%:@!$&'()*+,;=~-._"
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Address:
    """Where requests go: an origin, and the path and query within it."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What credentials belong to."""
        return self.scheme, self.host, self.port

    @property
    def name(self) -> str:
        """Host and port, as the `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def is_upgrade_of(self, other: "Address") -> bool:
        """Whether this is the same host by https, on the ports that go without saying."""
        return (self.scheme, self.port, other.scheme, other.port, self.host) == ("https", 443, "http", 80, other.host)


def parse_address(url: str) -> Address:
    """The address that a URL stands for, without the credentials it may hold.

    Raises:
        TransportFailed: It is not the URL of a web server.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna" if not (parts.hostname or "").isascii() else "ascii").decode()
        port = parts.port or DEFAULT_PORTS[parts.scheme]
    except (ValueError, KeyError, UnicodeError):
        raise TransportFailed("its url is not an address that begins with http:// or https://") from None
    if not host:
        raise TransportFailed("its url names no host")
    path = quote(parts.path or "/", safe=_IN_PATH)
    query = f"?{quote(parts.query, safe=_IN_PATH + '?')}" if parts.query else ""
    return Address(parts.scheme, host.lower(), port, path + query)


def credentials_in(url: str) -> dict[str, str]:
    """A user and a password in a URL, as the header that they stand for."""
    parts = urlsplit(url)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}
