"""Which proxy leads to a server, by the variables that every program knows (`HTTPS_PROXY`, `NO_PROXY` and so on).

This machine is never asked for through a proxy, whatever `NO_PROXY` leaves out: no proxy could reach it.
"""

import ipaddress
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from mcp_workbench.downstream.transports.transport import TransportFailed


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host.rstrip(".").lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def proxy_for(scheme: str, host: str) -> SplitResult | None:
    """The proxy that the environment names for an address; None for a direct connection.

    Raises:
        TransportFailed: It is of a kind that is not supported.
    """
    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or is_loopback(host) or proxy_bypass(host):
        return None
    proxy = _parts(address if "://" in address else f"http://{address}")
    if proxy.scheme not in ("http", "https") or not proxy.hostname:
        raise TransportFailed(
            f"the environment names a proxy of the kind '{proxy.scheme}', and only http and https are supported; "
            f"put the server into NO_PROXY if it can be reached directly"
        )
    return proxy


def _parts(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises for what is no number
    except ValueError:
        raise TransportFailed("the environment names a proxy whose address cannot be read") from None
    return parts


def proxy_credentials(proxy: SplitResult) -> tuple[bytes, bytes] | None:
    """User and password of a proxy's address."""
    if proxy.username is None:
        return None
    return unquote(proxy.username).encode(), unquote(proxy.password or "").encode()
