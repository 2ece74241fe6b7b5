"""`mcp-workbench import`: other clients' servers become toolboxes."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mcp_workbench.commands import import_
from mcp_workbench.config.loading import load_config
from mcp_workbench.config.models import StdioServer
from mcp_workbench.errors import ConfigError, WorkbenchError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the homes of these tests are laid out as on Linux")

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
OTHER_TOKEN = "ghp_zyxwvutsrqponmlkjihgfedcba9876543210"
DESKTOP = ".config/Claude/claude_desktop_config.json"


class Home:
    """A person's home directory, with a project in it that is the current directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "app"
        self.project.mkdir()
        self.config = self.project / "workbench-config.json"

    def write(self, path: str, content: object) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return file

    def servers(self, path: str, **servers: object) -> Path:
        return self.write(path, {"mcpServers": servers})

    def toolboxes(self) -> dict[str, Any]:
        return json.loads(self.config.read_text())["toolboxes"]

    def load(self, **environ: str) -> None:
        load_config(self.config, {"HOME": str(self.root), **environ})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in list(os.environ):
        if name not in {"PATH"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    place = Home(tmp_path)
    monkeypatch.chdir(place.project)
    return place


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    import_.add_arguments(parser)
    return import_.run(parser.parse_args(arguments))


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    run("--json", *arguments)
    return json.loads(capsys.readouterr().out)


def statuses(found: Mapping[str, Any]) -> dict[str, str]:
    return {f"{server['toolbox']}/{server['server']}": server["status"] for server in found["servers"]}


class TestWhatIsFound:
    def test_every_clients_servers_go_into_toolboxes_by_where_they_came_from(self, home: Home) -> None:
        home.servers(DESKTOP, files={"command": "npx", "args": ["-y", "fs"]})
        home.write(
            ".claude.json",
            {
                "mcpServers": {"mine": {"type": "stdio", "command": "uvx", "args": ["a"], "env": {}}},
                "projects": {str(home.project): {"mcpServers": {"local": {"command": "local"}}}},
            },
        )
        home.servers("app/.mcp.json", shared={"command": "shared"})
        home.servers(".cursor/mcp.json", cursed={"command": "c"})
        home.write(".config/Code/User/mcp.json", '{"servers": {"code": {"command": "v",},}, /* x */}')
        home.write("app/.vscode/mcp.json", {"servers": {"here": {"command": "h"}}})
        assert run() == 0
        assert {name: list(box["mcpServers"]) for name, box in home.toolboxes().items()} == {
            "claude-desktop": ["files"],
            "claude-code": ["mine"],
            "app": ["local", "shared", "here"],
            "cursor": ["cursed"],
            "vscode": ["code"],
        }
        home.load()

    def test_a_projects_server_is_started_in_its_project(self, home: Home) -> None:
        home.servers("app/.mcp.json", a={"command": "./run.sh"}, b={"command": "x", "cwd": "sub"})
        run()
        servers = home.toolboxes()["app"]["mcpServers"]
        assert servers["a"]["cwd"] == str(home.project)
        assert servers["b"]["cwd"] == str(home.project / "sub")

    def test_projects_of_the_same_name_get_toolboxes_of_their_own(self, home: Home) -> None:
        for name in ("x/app", "y/app"):
            (home.root / name).mkdir(parents=True)
        projects = {str(home.root / name): {"mcpServers": {"s": {"command": name}}} for name in ("x/app", "y/app")}
        home.write(".claude.json", {"projects": projects})
        run()
        assert list(home.toolboxes()) == ["app", "app-2"]

    def test_a_project_that_is_gone_is_reported(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.write(".claude.json", {"projects": {"/no/such/place": {"mcpServers": {"s": {"command": "x"}}}}})
        assert run() == 0
        assert "s: not taken over: its project is gone: /no/such/place" in capsys.readouterr().out
        assert not home.config.exists()

    def test_one_client_alone_can_be_named(self, home: Home) -> None:
        home.servers(DESKTOP, a={"command": "a"})
        home.servers(".cursor/mcp.json", b={"command": "b"})
        run("cursor")
        assert list(home.toolboxes()) == ["cursor"]

    def test_a_file_can_be_named_and_the_toolbox_too(self, home: Home) -> None:
        file = home.servers("backup.json", a={"command": "a"})
        run("--from", str(file), "--toolbox", "old stuff")
        assert list(home.toolboxes()["old stuff"]["mcpServers"]) == ["a"]

    def test_remote_servers_are_reported_without_what_their_address_may_hide(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(
            DESKTOP,
            linear={"url": "https://mcp.example.com/sse?key=abc", "headers": {"Authorization": "Bearer xyz"}},
            other={"type": "http", "command": "x"},
            fine={"command": "x"},
        )
        assert run() == 0
        shown = capsys.readouterr().out
        assert "linear: not taken over: it is a remote server at mcp.example.com: only stdio servers" in shown
        assert "other: not taken over: it is a remote server" in shown
        assert "abc" not in shown
        assert list(home.toolboxes()["claude-desktop"]["mcpServers"]) == ["fine"]

    def test_the_workbench_does_not_import_itself(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.servers(DESKTOP, workbench={"command": "/x/bin/mcp-workbench", "args": ["--config", "y"]})
        assert run() == 0
        assert "it is the workbench itself" in capsys.readouterr().out
        assert not home.config.exists()

    def test_disabled_servers_stay_disabled(self, home: Home) -> None:
        home.servers(DESKTOP, a={"command": "a", "disabled": True}, b={"command": "b", "enabled": False})
        run()
        assert [server["disabled"] for server in home.toolboxes()["claude-desktop"]["mcpServers"].values()] == [
            True
        ] * 2

    def test_a_server_that_its_project_switched_off_stays_off(self, home: Home) -> None:
        settings = {"mcpServers": {"s": {"command": "x"}}, "disabledMcpServers": ["s"]}
        home.write(".claude.json", {"projects": {str(home.project): settings}})
        run()
        assert home.toolboxes()["app"]["mcpServers"]["s"]["disabled"] is True

    def test_keys_that_mean_nothing_here_are_reported(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.servers(DESKTOP, a={"command": "a", "alwaysAllow": ["x"], "envFile": ".env", "toolFilters": ["x"]})
        run()
        shown = capsys.readouterr().out
        assert "means nothing to the workbench: alwaysAllow" in shown
        assert "envFile is not read here" in shown
        assert home.toolboxes()["claude-desktop"]["mcpServers"]["a"] == {"command": "a", "toolFilters": ["x"]}

    @pytest.mark.parametrize(
        ("entry", "reason"),
        [
            ("npx", "it is not a JSON object"),
            ({}, "it has no command"),
            ({"command": 3}, "it has no command"),
            ({"command": "x", "args": "y"}, "its args are not a list"),
            ({"command": "x", "args": [["y"]]}, "args[0] is not text"),
            ({"command": "x", "env": []}, "its env is not a JSON object"),
            ({"command": "x", "env": {"A": {}}}, "env.A is not text"),
            ({"command": "x", "connectTimeout": "soon"}, "connectTimeout"),
        ],
    )
    def test_an_entry_that_cannot_work_keeps_no_other_out(
        self, home: Home, capsys: pytest.CaptureFixture[str], entry: object, reason: str
    ) -> None:
        home.servers(DESKTOP, bad=entry, good={"command": "x"})
        assert run() == 0
        shown = capsys.readouterr().out
        assert "bad: not taken over: " in shown
        assert reason in shown
        assert list(home.toolboxes()["claude-desktop"]["mcpServers"]) == ["good"]

    def test_names_that_a_config_reads_otherwise_are_written_so_that_it_does_not(self, home: Home) -> None:
        home.servers(DESKTOP, **{"_hidden": {"command": "a"}, "${x}": {"command": "b"}, " ": {"command": "c"}})
        run()
        assert list(home.toolboxes()["claude-desktop"]["mcpServers"]) == ["hidden", "$${x}"]
        loaded = load_config(home.config, {})
        assert list(loaded.config.toolboxes["claude-desktop"].servers) == ["hidden", "${x}"]


class TestSecrets:
    def test_a_secret_becomes_a_variable_and_is_shown_nowhere(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = home.servers(DESKTOP, github={"command": "x", "env": {"GITHUB_TOKEN": TOKEN, "LOG": "debug"}})
        run()
        shown = capsys.readouterr().out
        assert f"export GITHUB_TOKEN=...   # env.GITHUB_TOKEN of 'github' in {file}" in shown
        assert TOKEN not in shown + home.config.read_text()
        server = home.toolboxes()["claude-desktop"]["mcpServers"]["github"]
        assert server["env"] == {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LOG": "debug"}
        home.load(GITHUB_TOKEN=TOKEN)
        with pytest.raises(ConfigError, match="GITHUB_TOKEN"):
            home.load()

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            (["--api-key=xyz"], ["--api-key=${EXA_API_KEY}"]),
            (["--token", "xyz"], ["--token", "${EXA_TOKEN}"]),
            (["--token", "--verbose"], ["--token", "--verbose"]),
            (["-e", "EXA_KEY=xyz"], ["-e", "EXA_KEY=${EXA_KEY}"]),
            ([TOKEN], ["${EXA_SECRET}"]),
            (["--header", "Authorization: Bearer abc"], ["--header", "Authorization: ${EXA_AUTHORIZATION}"]),
            (["postgres://me:pw@db/x"], ["postgres://me:${EXA_PASSWORD}@db/x"]),
            (["-y", "@scope/server", "https://example.org", "8080"], None),
            (["--max-tokens", "4096", "--model", "claude-3-5-sonnet-20241022"], None),
        ],
    )
    def test_secrets_among_the_arguments(self, home: Home, args: list[str], expected: list[str] | None) -> None:
        home.servers(DESKTOP, exa={"command": "x", "args": args})
        run()
        assert home.toolboxes()["claude-desktop"]["mcpServers"]["exa"]["args"] == (expected or args)

    def test_two_secrets_of_one_name_get_two_variables_and_one_shared_secret_one(self, home: Home) -> None:
        home.servers(
            DESKTOP,
            a={"command": "a", "env": {"API_KEY": "first"}},
            b={"command": "b", "env": {"API_KEY": "second"}},
            c={"command": "c", "env": {"API_KEY": "first"}},
        )
        run()
        servers = home.toolboxes()["claude-desktop"]["mcpServers"]
        assert [server["env"]["API_KEY"] for server in servers.values()] == ["${API_KEY}", "${B_API_KEY}", "${API_KEY}"]

    def test_a_variable_that_means_something_else_in_this_shell_is_not_used(
        self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("API_KEY", "another")
        monkeypatch.setenv("SET_KEY", "same")
        home.servers(DESKTOP, a={"command": "a", "env": {"API_KEY": "first", "SET_KEY": "same"}})
        run()
        assert home.toolboxes()["claude-desktop"]["mcpServers"]["a"]["env"] == {
            "API_KEY": "${A_API_KEY}",
            "SET_KEY": "${SET_KEY}",
        }
        assert "export SET_KEY" not in capsys.readouterr().out

    def test_what_an_editor_asked_for_is_to_be_exported(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.write(
            "app/.vscode/mcp.json",
            """{
              // asked once
              "inputs": [{"type": "promptString", "id": "pplx-key", "description": "Key", "password": true}],
              "servers": {"pplx": {"type": "stdio", "command": "npx",
                "args": ["${workspaceFolder}/x", "${config:y}"], "env": {"KEY": "${input:pplx-key}", "N": 3.10}}},
            }""",
        )
        run()
        assert "export PPLX_KEY=...   # what the client asked you for (Key)" in capsys.readouterr().out
        server = home.toolboxes()["app"]["mcpServers"]["pplx"]
        assert server["args"] == [f"{home.project}/x", "$${config:y}"]
        assert server["env"] == {"KEY": "${PPLX_KEY}", "N": "3.10"}
        home.load(PPLX_KEY="k")

    def test_a_shells_own_braces_reach_the_shell(self, home: Home) -> None:
        home.servers(DESKTOP, a={"command": "/bin/bash", "args": ["-c", "X=1; run ${X} ${HOME}"]})
        run()
        loaded = load_config(home.config, {})
        server = loaded.config.toolboxes["claude-desktop"].servers["a"]
        assert isinstance(server, StdioServer)
        assert server.args[1] == "X=1; run ${X} ${HOME}"


class TestMerging:
    def test_what_the_config_has_stays_character_for_character(self, home: Home) -> None:
        home.config.write_text(
            '{ "_comment": "mine",\n   "toolboxes": {"dev":{"description":"D", "mcpServers":{}}}\n}\n'
        )
        home.servers(DESKTOP, a={"command": "a"})
        run()
        text = home.config.read_text()
        assert text.startswith('{ "_comment": "mine",\n   "toolboxes": {"dev":{"description":"D", "mcpServers":{}}')
        assert list(home.toolboxes()) == ["dev", "claude-desktop"]
        backups = list(home.project.glob("*.bak"))
        assert [backup.read_text()[:22] for backup in backups] == ['{ "_comment": "mine",\n']

    def test_importing_again_changes_nothing(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.servers(DESKTOP, a={"command": "a", "env": {"API_KEY": "x"}}, b={"command": "b"})
        home.servers("app/.mcp.json", c={"command": "c", "env": {"API_KEY": "y"}})
        run()
        text = home.config.read_text()
        capsys.readouterr()
        assert run() == 0
        assert "Nothing new" in capsys.readouterr().out
        assert home.config.read_text() == text
        assert list(home.project.glob("*.bak")) == []

    def test_a_server_that_was_edited_in_the_config_is_left_as_it_is(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(DESKTOP, a={"command": "a"}, b={"command": "b"})
        run()
        edited = home.toolboxes()
        edited["claude-desktop"]["mcpServers"]["a"]["toolFilters"] = ["one"]
        edited["claude-desktop"]["mcpServers"]["b"]["command"] = "better-b"
        home.write("app/workbench-config.json", {"toolboxes": edited})
        found = run_json(capsys)
        assert statuses(found) == {"claude-desktop/a": "present", "claude-desktop/b": "conflict"}
        assert home.toolboxes() == edited

    def test_an_entry_that_two_clients_share_is_taken_once(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for path in (DESKTOP, ".cursor/mcp.json"):
            home.servers(path, github={"command": "x", "env": {"GITHUB_TOKEN": TOKEN}})
        found = run_json(capsys)
        assert statuses(found) == {"claude-desktop/github": "new", "cursor/github": "duplicate"}
        assert list(home.toolboxes()) == ["claude-desktop"]

    def test_an_entry_that_a_project_shares_with_its_user_is_taken_once(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(".cursor/mcp.json", a={"command": "x"})
        home.servers("app/.cursor/mcp.json", a={"command": "x"})
        assert statuses(run_json(capsys)) == {"cursor/a": "new", "app/a": "duplicate"}
        assert statuses(run_json(capsys, "--from", ".cursor/mcp.json")) == {"cursor/a": "present"}

    def test_the_same_server_with_another_account_is_another_server(self, home: Home) -> None:
        home.servers(DESKTOP, github={"command": "x", "env": {"GITHUB_TOKEN": TOKEN}})
        home.servers(".cursor/mcp.json", github={"command": "x", "env": {"GITHUB_TOKEN": OTHER_TOKEN}})
        run("claude-desktop")
        run("cursor")
        assert home.toolboxes()["cursor"]["mcpServers"]["github"]["env"] == {"GITHUB_TOKEN": "${CURSOR_GITHUB_TOKEN}"}

    def test_two_servers_of_one_name_in_one_toolbox_both_come_in(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.servers(DESKTOP, db={"command": "one"})
        home.servers(".cursor/mcp.json", db={"command": "two"})
        run("--toolbox", "all")
        assert list(home.toolboxes()["all"]["mcpServers"]) == ["db", "db-cursor"]
        assert set(statuses(run_json(capsys, "--toolbox", "all")).values()) == {"present"}

    def test_a_config_that_does_not_load_is_not_touched(self, home: Home) -> None:
        home.config.write_text('{"toolboxes": {"dev": {}}}')
        home.servers(DESKTOP, a={"command": "a"})
        with pytest.raises(ConfigError, match="description"):
            run()
        assert home.config.read_text() == '{"toolboxes": {"dev": {}}}'

    def test_variables_of_the_config_need_not_be_set_to_add_to_it(self, home: Home) -> None:
        server = {"command": "x", "env": {"K": "${NOT_SET}"}}
        home.write("app/workbench-config.json", {"toolboxes": {"d": {"description": "D", "mcpServers": {"s": server}}}})
        home.servers(DESKTOP, a={"command": "a"})
        assert run() == 0
        assert list(home.toolboxes()) == ["d", "claude-desktop"]

    def test_an_interrupted_write_leaves_the_old_config(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        home.config.write_text('{"toolboxes": {}}')
        home.servers(DESKTOP, a={"command": "a"})

        def fail(source: str, target: str) -> NoReturn:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(WorkbenchError, match="cannot be written"):
            run()
        assert [(path.name, path.read_text()) for path in home.project.iterdir()] == [
            ("workbench-config.json", '{"toolboxes": {}}')
        ]


class TestBadInput:
    def test_no_file_anywhere_says_where_it_looked(self, home: Home) -> None:
        with pytest.raises(WorkbenchError) as caught:
            run()
        assert f"{home.root}/{DESKTOP} (Claude Desktop): no such file" in str(caught.value)
        assert "--from FILE" in str(caught.value)

    def test_an_empty_file_has_no_servers(self, home: Home) -> None:
        home.write(DESKTOP, "")
        with pytest.raises(WorkbenchError, match="no servers in it"):
            run("claude-desktop")

    def test_a_broken_file_keeps_no_other_out_but_is_a_failure(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home.write(DESKTOP, '{"mcpServers": {')
        home.write("app/.vscode/mcp.json", {"servers": "none"})
        home.servers(".cursor/mcp.json", a={"command": "a"})
        (home.root / ".claude.json").mkdir()
        assert run() == 1
        shown = capsys.readouterr().out
        assert "claude_desktop_config.json cannot be understood" in shown
        assert ".claude.json cannot be read: is a directory" in shown
        assert "servers is not a JSON object" in shown
        assert list(home.toolboxes()) == ["cursor"]

    def test_a_named_file_that_is_missing_or_a_workbench_config(self, home: Home) -> None:
        with pytest.raises(WorkbenchError, match="does not exist"):
            run("--from", "nothing.json")
        home.config.write_text('{"toolboxes": {}}')
        with pytest.raises(WorkbenchError, match="is a workbench config already"):
            run("--from", str(home.config))

    @pytest.mark.parametrize("name", ["", " ", "_x"])
    def test_a_toolbox_name_that_no_toolbox_can_have_is_wrong_usage(self, home: Home, name: str) -> None:
        with pytest.raises(SystemExit) as caught:
            run("--toolbox", name)
        assert caught.value.code == 2


def test_a_dry_run_shows_the_change_and_writes_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.servers(DESKTOP, a={"command": "a", "env": {"API_KEY": "hunter22"}})
    assert run("--dry-run") == 0
    shown = capsys.readouterr().out
    assert '+        "a": {' in shown
    assert "hunter22" not in shown
    assert not home.config.exists()


def test_markup_in_names_is_shown_as_it_is(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.servers(DESKTOP, **{"[red]x[/red]": {"command": "a", "args": ["[/bold]"]}})
    run()
    shown = capsys.readouterr().out
    assert "[red]x[/red] -> claude-desktop/[red]x[/red]" in shown
    assert "[/bold]" in shown


def test_the_whole_command_as_a_person_runs_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.servers(DESKTOP, a={"command": "a", "env": {"API_KEY": "hunter22"}}, b={"url": "https://x.example"})
    done = subprocess.run(
        [sys.executable, "-m", "mcp_workbench", "import", "--json"],
        cwd=home.project,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert statuses(found) == {"claude-desktop/a": "new", "claude-desktop/b": "refused"}
    assert [variable["name"] for variable in found["variables"]] == ["API_KEY"]
    assert "hunter22" not in done.stdout
    home.load(API_KEY="x")
