"""What is remembered of one login: tokens, the registered client, and where both are good."""

import time
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

_EARLY_SECONDS = 60.0
"""A token is replaced this long before it expires, or a tenth of its life before where that is shorter."""


@dataclass(frozen=True)
class Client:
    """A client as its authorization server knows it."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    auth_method: str = "none"
    redirect_uri: str | None = None
    """Where a registered client is sent back to; None for one that was not registered by us."""
    scopes: tuple[str, ...] = ()
    """What it was registered for; its server may refuse it more."""
    secret_expires_at: float | None = None

    def is_usable(self) -> bool:
        """Whether its secret, if it has one, is still good."""
        return not self.secret_expires_at or time.time() < self.secret_expires_at


@dataclass(frozen=True)
class Tokens:
    """What a token endpoint gave. The expiry is a point in time, so that it means the same after a restart."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    obtained_at: float = 0.0
    expires_at: float | None = None
    scopes: tuple[str, ...] = ()

    def has_expired(self) -> bool:
        """Whether the server will refuse it."""
        return self.expires_at is not None and time.time() >= self.expires_at

    def is_due(self) -> bool:
        """Whether it is time to replace it."""
        if self.expires_at is None:
            return False
        early = min(_EARLY_SECONDS, max(0.0, (self.expires_at - self.obtained_at) / 10))
        return time.time() >= self.expires_at - early


@dataclass(frozen=True)
class Record:
    """Everything that a later process needs to go on without asking anybody: one file's content."""

    resource: str
    issuer: str
    token_endpoint: str
    revocation_endpoint: str | None = None
    send_resource: bool = True
    """Whether the token endpoint is told which resource a token is for; servers of the first specification are not."""
    client: Client | None = None
    """The client that was registered for us; None where the config names one, whose secret stays in the config."""
    auth_methods: tuple[str, ...] | None = None
    """How the authorization server takes the secret of a client that the config names."""
    client_is_stale: bool = False
    """The authorization server no longer knows that client: the next login registers another."""
    tokens: Tokens | None = None
    wanted_scopes: tuple[str, ...] = ()
    """What a refused request needed beyond the granted scopes: the next login asks for these too."""
    who: str | None = None

    def secrets(self) -> list[str]:
        """What must never be shown."""
        tokens, client = self.tokens, self.client
        found = [tokens.access_token, tokens.refresh_token] if tokens else []
        return [secret for secret in [*found, client.client_secret if client else None] if secret]


_RECORD = TypeAdapter(Record)


def to_json(record: Record) -> bytes:
    """The file's content."""
    return _RECORD.dump_json(record, indent=2)


def from_json(content: bytes) -> Record | None:
    """The record in a file's content, or None where it is damaged."""
    try:
        return _RECORD.validate_json(content)
    except ValidationError:
        return None
