"""The end of a login: revoked where its authorization server can do that, and forgotten here in any case."""

from mcp_workbench.downstream.transports.login.file_lock import LockBusy
from mcp_workbench.downstream.transports.login.problems import LoginFailed
from mcp_workbench.downstream.transports.login.record import Record
from mcp_workbench.downstream.transports.login.store import StoredLogin
from mcp_workbench.downstream.transports.login.target import Target
from mcp_workbench.downstream.transports.login.tokens import revoke
from mcp_workbench.downstream.transports.login.web import web


async def end_login(target: Target, stored: StoredLogin) -> str | None:
    """End a login; what became of it, as a person reads it, or None where nobody was logged in.

    Raises:
        LoginFailed: It cannot be forgotten, and nothing was revoked.
    """
    if stored.read() is None:
        stored.forget()  # what was put aside as damaged
        return None
    try:
        async with stored.lock():
            record = stored.read()
            stored.forget()
    except LockBusy:
        raise LoginFailed("another mcp-workbench is changing this login; try again") from None
    except OSError as error:
        raise LoginFailed(f"its file in {stored.path.parent} cannot be deleted: {error.strerror}") from None
    return None if record is None or record.tokens is None else await _revoked(target, record)


async def _revoked(target: Target, record: Record) -> str:
    tokens = record.tokens
    client = record.client or target.fixed_client(record.auth_methods)
    assert tokens is not None
    if record.revocation_endpoint is None or client is None:
        return "its tokens are deleted here; the server offers no way to revoke them, so they expire in their own time"
    given = [("refresh_token", tokens.refresh_token), ("access_token", tokens.access_token)]
    try:
        async with web() as connection:
            agreed = [
                await revoke(connection, record.revocation_endpoint, client, token, kind)
                for kind, token in given
                if token
            ]
    except LoginFailed as failure:
        return f"its tokens are deleted here; they could not be revoked ({failure}), so they expire in their own time"
    if not all(agreed):
        return "its tokens are deleted here; the server would not revoke them, so they expire in their own time"
    return "its tokens are revoked and deleted"
