"""What a server sees of our environment, and how it is told what it does not see."""

from pathlib import Path

import pytest

from mcp_workbench.config.models import StdioServer
from mcp_workbench.downstream.transports.environment import NOT_PASSED, missing_variable_hint, server_environment
from wire import WireClient, scripted, workbench, write_config

HERE = {
    "PATH": "/bin",
    "DISPLAY": ":0",
    "XDG_CONFIG_HOME": "/c",
    "KUBECONFIG": "/k",
    "NVM_DIR": "/n",
    "LC_ALL": "C",
    "SSH_AUTH_SOCK": "/s",
    "DBUS_SESSION_BUS_ADDRESS": "unix:x",
    "GITHUB_TOKEN": "secret",
    "BASH_FUNC_x%%": "() { :; }",
}


def test_a_server_sees_where_things_are_and_nothing_else() -> None:
    passed = server_environment(StdioServer(command="x", env={"OWN": "1"}), HERE)
    assert passed.keys() == {"PATH", "DISPLAY", "XDG_CONFIG_HOME", "KUBECONFIG", "NVM_DIR", "LC_ALL", "OWN"}


def test_what_its_entry_names_is_passed_too() -> None:
    named = StdioServer.model_validate({"command": "x", "inheritEnv": ["SSH_AUTH_SOCK"]})
    assert "SSH_AUTH_SOCK" in server_environment(named, HERE)


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Error: GITHUB_TOKEN is required", "GITHUB_TOKEN"),
        ("set $GITHUB_TOKEN", "GITHUB_TOKEN"),
        ("set ${SSH_AUTH_SOCK} or GITHUB_TOKEN", "SSH_AUTH_SOCK"),
        ("MY_GITHUB_TOKEN and GITHUB_TOKENS are missing", None),
        ("PATH and DISPLAY are odd", None),
        ("nothing", None),
    ],
)
def test_a_variable_that_is_set_here_but_was_not_passed_is_named(said: str, hint: str | None) -> None:
    passed = {name: HERE[name] for name in ("PATH", "DISPLAY")}
    found = missing_variable_hint(said, passed, HERE)
    assert (NOT_PASSED.findall(found) if found else []) == ([hint] if hint else [])
    assert "secret" not in (found or "")


@pytest.mark.anyio
async def test_the_reason_of_a_failed_connection_says_what_was_not_passed(tmp_path: Path) -> None:
    dying = scripted(exit_at_start=1, stderr_at_start="WEATHER_KEY is not set\n")
    config = write_config(tmp_path, {"dev": {"weather": dying}})
    async with WireClient.spawn(workbench(config), env={"WEATHER_KEY": "sunny-1234"}) as client:
        result = await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
    text = result["content"][0]["text"]
    assert 'WEATHER_KEY is set here, but was not passed to it: add \\"env\\"' in text or (
        'WEATHER_KEY is set here, but was not passed to it: add "env": {"WEATHER_KEY": "${WEATHER_KEY}"} to its entry'
        in text
    )
    assert "sunny" not in text
