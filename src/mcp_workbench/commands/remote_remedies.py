"""The next step after a failed connection to a remote server: the first of the lines below that fits the reason."""

import re

from mcp_workbench.config.servers import RemoteServer

_LOGIN = re.compile(r"login needed: run (mcp-workbench login .+?)(?: \(|$)", re.MULTILINE)

_STEPS: tuple[tuple[str, str], ...] = (
    (r"^401 ", "{credentials}"),
    (r"^403 ", "ask whoever runs it for the permission, or give it a token that has it"),
    (r"^404 |web page|where JSON was due", "check the path of {address}: many servers end in /mcp or /sse"),
    (r"^it redirects", "correct url, if the address that it names is right"),
    (r"^429 ", "wait, then try again"),
    (r"^5\d\d ", "try again later: the server itself is in trouble"),
    (r"unknown host|no way to", "check the name in {address}, and the network"),
    (r"connection refused|no connection to", "see that the server runs, and that {address} has the right port"),
    (r"certificate", "if you trust whoever signed it, name their certificate in SSL_CERT_FILE"),
    (r"does not seem to speak TLS", "write http:// instead of https:// if that is on this machine"),
    (r"allowInsecure", "write https:// in url"),
    (r"^the proxy", "check HTTPS_PROXY, or put the server into NO_PROXY"),
    (r"^no answer to", 'give it longer ("connectTimeout": {longer}), or see whether {address} answers'),
)


def remote_step(reason: str, server: RemoteServer) -> str:
    """Return what to do about a remote server that could not be connected for this reason."""
    if login := _LOGIN.search(reason):
        return f"run {login[1]}"
    step = next((step for pattern, step in _STEPS if re.search(pattern, reason)), "see whether {address} answers")
    return step.format(
        address=server.describe(),
        credentials=_credentials(server),
        longer=max(60, round(server.connect_timeout * 2)),
    )


def _credentials(server: RemoteServer) -> str:
    names = [name for name in server.headers if re.search("auth|key|token|secret", name, re.IGNORECASE)]
    if names:
        return f"renew what its header {names[0]} holds: the server does not accept it"
    return 'give it a token: "headers": {"Authorization": "Bearer ${NAME}"} in its entry'
