"""The seam between a remote transport and whatever obtains its credentials.

A transport asks for the credentials of every request and says when the server refused them. Requests run at the same
time, so an implementation holds no lock while a request is under way: `headers` may wait for a refresh that another
request began, never for another request.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from mcp_workbench.downstream.transports.transport import TransportFailed


class PendingLogin(Protocol):
    """A login that waits for its person. It ends by itself, and needs nobody who waits for it."""

    @property
    def url(self) -> str:
        """The page to log in at, to be shown to that person alone."""
        ...

    async def wait(self) -> None:
        """Wait until the login is done. Any number may wait, and may stop waiting.

        Raises:
            TransportFailed: It was refused, went wrong, or nobody came.
        """
        ...

    def close(self) -> None:
        """Give the login up, if it is not over."""
        ...


class LoginNeeded(TransportFailed):
    """The server wants a login that only a person can make; `str()` is the reason a person reads.

    It begins with `login needed`. `begin` begins that login, for whoever can show its page to the person; it raises
    `TransportFailed` where the server offers no login that can be trusted.
    """

    def __init__(self, reason: str, begin: Callable[[], Awaitable[PendingLogin]] | None = None) -> None:
        super().__init__(reason)
        self.begin = begin


class Authorization(Protocol):
    """Credentials for the requests to one server, and what becomes of them when the server refuses them."""

    async def headers(self) -> Mapping[str, str]:
        """The credentials to attach to the next request, refreshed where they are about to expire; empty for none.

        Raises:
            LoginNeeded: A person must log in first.
        """
        ...

    def accepted(self, sent: Mapping[str, str]) -> None:
        """The server took a request with these credentials."""
        ...

    async def challenged(self, status: int, www_authenticate: str | None, sent: Mapping[str, str]) -> bool:
        """The server refused a request with 401, or with 403 for want of a scope.

        Args:
            status: The HTTP status.
            www_authenticate: The server's challenge, where it sent one.
            sent: The credentials of the refused request; others may have taken their place meanwhile.

        Returns:
            Whether to send the request once more, with what `headers` gives now.

        Raises:
            LoginNeeded: A person must log in first.
        """
        ...
