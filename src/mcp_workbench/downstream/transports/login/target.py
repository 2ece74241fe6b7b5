"""What a login is for: a server's entry in the config, as far as logging in depends on it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from mcp_workbench.config.servers import RemoteServer
from mcp_workbench.downstream.transports.login.record import Client


@dataclass(frozen=True)
class Target:
    """A remote server and how its entry says to log in there."""

    toolbox: str
    server: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = ()
    callback_port: int | None = None
    is_program: bool = False
    """The grant `client_credentials`: the workbench logs in as itself, without a person."""
    account: str | None = None
    allow_insecure: bool = False
    is_configured: bool = False
    """The entry has an `oauth` object: whoever wrote it knows that there is a login."""

    @property
    def command(self) -> str:
        """What a person runs to log in."""
        return f"mcp-workbench login {shlex.quote(self.toolbox)} {shlex.quote(self.server)}"

    @property
    def needed(self) -> str:
        """The sentence for whoever tried to use the server without a login."""
        return f"login needed: run {self.command}"

    def fixed_client(self, methods: tuple[str, ...] | None) -> Client | None:
        """The client that the entry names, authenticating as its authorization server wants it."""
        if self.client_id is None:
            return None
        if self.client_secret is None:
            return Client(self.client_id)
        wants_post = methods is not None and "client_secret_basic" not in methods
        return Client(self.client_id, self.client_secret, "client_secret_post" if wants_post else "client_secret_basic")


def target_of(toolbox: str, server: str, entry: RemoteServer) -> Target | None:
    """What the entry says of a login; None where it sends credentials of its own, and there is nothing to log in to."""
    if any(name.lower() == "authorization" for name in entry.headers) or urlsplit(entry.url).username is not None:
        return None
    oauth = entry.oauth
    shared = Target(
        toolbox,
        server,
        entry.url,
        entry.headers,
        allow_insecure=entry.allow_insecure,
        is_configured=oauth is not None,
    )
    if oauth is None:
        return shared
    return replace(
        shared,
        client_id=oauth.client_id,
        client_secret=oauth.client_secret,
        scopes=oauth.scopes,
        callback_port=oauth.callback_port,
        is_program=oauth.grant == "client_credentials",
    )
