"""The next step for a remote server that cannot be connected: one line that a person can follow."""

import pytest

from mcp_workbench.commands.remedies import next_step
from mcp_workbench.config.servers import RemoteServer

PLAIN = RemoteServer.model_validate({"url": "https://a.example/mcp?key=sekret-key-012345"})
KEYED = RemoteServer.model_validate({"url": "https://a.example/mcp", "headers": {"X-Api-Key": "sekret-key-012345"}})


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        ("login needed: run mcp-workbench login dev 'my box' (why not)", "run mcp-workbench login dev 'my box'"),
        ("404 Not Found: there is nothing at this address", "many servers end in /mcp or /sse"),
        ("it sent a web page ('Home') where JSON was due", "check the path of https://a.example/mcp"),
        ("unknown host: 'a.example' (check the name, and the network)", "check the name in https://a.example/mcp"),
        ("connection refused by 'a.example'", "see that the server runs"),
        ("its TLS certificate is not accepted: unable to get local issuer certificate", "SSL_CERT_FILE"),
        ("no answer to initialize within 30 s", '"connectTimeout": 60'),
        ("401 Unauthorized: it wants credentials", '"headers": {"Authorization": "Bearer ${NAME}"}'),
        ("something new", "see whether https://a.example/mcp"),
    ],
)
def test_a_reason_has_its_next_step(reason: str, step: str) -> None:
    assert step in next_step(reason, PLAIN)
    assert "sekret" not in next_step(reason, PLAIN)


def test_a_key_that_is_not_accepted_is_to_be_renewed() -> None:
    step = next_step("401 Unauthorized: it wants credentials", KEYED)
    assert step == "renew what its header X-Api-Key holds: the server does not accept it"
