"""What a server says when it refuses a request: the `WWW-Authenticate` header, read as RFC 9110 writes it."""

import re
from dataclasses import dataclass

_PARAMETER = re.compile(r'(?:^|[\s,])([A-Za-z_][\w-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_LONGEST = 4000


@dataclass(frozen=True)
class Challenge:
    """The parts of a challenge that a login uses."""

    resource_metadata: str | None = None
    scopes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def wants_more_scopes(self) -> bool:
        """Whether the credentials were good, but not for this request."""
        return self.error == "insufficient_scope"


def parse(header: str | None) -> Challenge:
    """Read the header; what is missing or unreadable is left out."""
    found: dict[str, str] = {}
    for name, quoted, plain in _PARAMETER.findall((header or "")[:_LONGEST]):
        found.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    return Challenge(
        resource_metadata=found.get("resource_metadata"),
        scopes=tuple(found.get("scope", "").split()),
        error=found.get("error"),
    )
