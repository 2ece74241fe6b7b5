"""Why a login cannot be made or kept."""

from mcp_workbench.downstream.transports.transport import TransportFailed


class LoginFailed(TransportFailed):
    """A login that cannot go on; `str()` says why, and holds no token, code or verifier."""


class NoLoginOffered(LoginFailed):
    """The server publishes nothing that would let anybody log in."""


class Unreachable(LoginFailed):
    """No usable answer, for a reason that may pass: nothing that is stored is wrong because of it."""


class Rejected(LoginFailed):
    """An OAuth error: the authorization server understood and said no."""

    error = ""
    """The code of the error, such as `invalid_grant`."""

    @classmethod
    def by(cls, host: str, error: str, description: str | None = None) -> "Rejected":
        """What a host says."""
        rejected = cls(f"{host} says {error}" + (f": {description}" if description else ""))
        rejected.error = error
        return rejected
