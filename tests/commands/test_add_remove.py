"""`mcp-workbench add` and `remove`: one server into the config and out again, and nothing else in it changes."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.cli import main
from mcp_workbench.clients.env_file import read_variables
from mcp_workbench.config.json_text import parse

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the homes of these tests are laid out as on Linux")

CONFIG = """{
  // my config
  "toolboxes": {
    "dev": {
      "description": "What I use for work", // in my words
      "mcpServers": {
        "one": {"command": "one"}, // the first
      },
    },
  },
}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name not in {"PATH"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    return tmp_path


def own(home: Path) -> Path:
    return home / ".config/mcp-workbench/workbench-config.json"


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def servers(file: Path, toolbox: str = "dev") -> dict[str, Any]:
    return parse(file.read_text()).value["toolboxes"][toolbox]["mcpServers"]


def test_a_program_with_options_of_its_own_goes_into_the_users_config(home: Path) -> None:
    assert run("add", "dev", "files", "--env", "LOG=debug", "--", "npx", "-y", "fs", "--root", "--", ".") == 0
    assert servers(own(home)) == {
        "files": {"command": "npx", "args": ["-y", "fs", "--root", "--", "."], "env": {"LOG": "debug"}}
    }
    assert json.loads(own(home).read_text())["unsetVariables"] == "skip"


def test_an_address_with_headers_goes_in_and_its_secret_beside_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run("add", "work", "tracker", "--header", "Authorization: Bearer sesame-1", "https://mcp.linear.app/mcp") == 0
    )
    assert servers(own(home), "work")["tracker"] == {
        "url": "https://mcp.linear.app/mcp",
        "headers": {"Authorization": "Bearer ${TRACKER_AUTHORIZATION}"},
    }
    env_file = own(home).with_suffix(".env")
    assert read_variables(env_file) == {"TRACKER_AUTHORIZATION": "sesame-1"}
    assert env_file.stat().st_mode & 0o777 == 0o600
    assert json.loads(own(home).read_text())["envFile"] == "workbench-config.env"
    assert "sesame-1" not in capsys.readouterr().out


def test_comments_and_layout_stay_and_remove_leads_back(home: Path) -> None:
    file = home / "app/workbench-config.json"
    file.write_text(CONFIG)
    assert run("add", "dev", "two", "--", "two") == 0
    assert "// the first" in file.read_text()
    assert list(servers(file)) == ["one", "two"]
    assert run("remove", "dev", "two") == 0
    assert file.read_text() == CONFIG
    assert len(list(file.parent.glob("*.bak"))) == 2
    assert run("remove", "dev") == 0
    assert parse(file.read_text()).value == {"toolboxes": {}}
    assert "// my config" in file.read_text()


def test_secrets_anywhere_go_into_the_env_file_and_references_stay(home: Path) -> None:
    words = (
        "--env",
        "API_KEY=hunter22",
        "--env",
        "OTHER=${MINE}",
        "--",
        "x",
        "--token",
        "sesame",
        "https://h/?key=abcd",
    )
    assert run("add", "dev", "s", *words) == 0
    assert servers(own(home))["s"] == {
        "command": "x",
        "args": ["--token", "${S_TOKEN}", "https://h/?key=${S_KEY}"],
        "env": {"API_KEY": "${API_KEY}", "OTHER": "${MINE}"},
    }
    assert read_variables(own(home).with_suffix(".env")) == {
        "API_KEY": "hunter22",
        "S_TOKEN": "sesame",
        "S_KEY": "abcd",
    }


def test_another_value_under_a_name_that_is_taken_gets_a_name_of_its_own(home: Path) -> None:
    run("add", "dev", "a", "--env", "API_KEY=first", "--", "x")
    run("add", "dev", "b", "--env", "API_KEY=second", "--", "x")
    assert servers(own(home))["b"]["env"] == {"API_KEY": "${DEV_B_API_KEY}"}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["dev", "x"], "nothing to add: end with -- COMMAND ARGS…, or with the server's URL"),
        (["dev", "x", "--env", "SECRET", "--", "y"], "--env wants NAME=VALUE"),
        (["dev", "x", "--header", "A=b", "--", "y"], "--header is for a server that is reached at a URL"),
        (["dev", "x", "--env", "A=b", "https://h/"], "--env is for a program to start"),
        ([" ", "x", "--", "y"], "a name is not blank"),
        (["dev", "_x", "--", "y"], "does not start with '_'"),
    ],
)
def test_what_cannot_be_added_is_one_sentence_and_writes_nothing(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    assert run("add", *words) == 1
    assert problem in capsys.readouterr().err
    assert not own(home).exists()


def test_a_server_is_replaced_only_by_force_and_its_toolbox_described_when_asked(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("add", "dev", "x", "--", "one")
    assert run("add", "dev", "x", "--", "two") == 1
    assert "has a server 'x' already" in capsys.readouterr().err
    assert run("add", "dev", "x", "--force", "--description", "Mine", "--", "two") == 0
    assert servers(own(home)) == {"x": {"command": "two"}}
    assert json.loads(own(home).read_text())["toolboxes"]["dev"]["description"] == "Mine"


def test_what_is_not_there_cannot_be_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("remove", "dev") == 1
    run("add", "dev", "server", "--", "x")
    assert run("remove", "dve") == 1
    assert "there is no toolbox 'dve'. Did you mean 'dev'?" in capsys.readouterr().err
    assert run("remove", "dev", "servre") == 1
    assert "toolbox 'dev' has no server 'servre'. Did you mean 'server'?" in capsys.readouterr().err


def test_a_dry_run_of_either_writes_nothing_and_shows_no_secret(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("add", "dev", "x", "--dry-run", "--env", "API_KEY=hunter22", "--", "one") == 0
    assert not own(home).exists()
    assert not own(home).with_suffix(".env").exists()
    run("add", "dev", "x", "--", "one")
    text = own(home).read_text()
    assert run("remove", "dev", "x", "--dry-run") == 0
    assert own(home).read_text() == text
    assert "hunter22" not in capsys.readouterr().out
