"""`mcp-workbench install`: the workbench goes into a client's own file, and nothing else there changes."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mcp_workbench.clients.documents import Format
from mcp_workbench.commands import install, uninstall
from mcp_workbench.config.json_text import parse
from mcp_workbench.errors import ConfigError, WorkbenchError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the homes of these tests are laid out as on Linux")

DESKTOP = ".config/Claude/claude_desktop_config.json"
FILES = {
    "claude-desktop": (DESKTOP, ("mcpServers",)),
    "claude-code": (".claude.json", ("mcpServers",)),
    "cursor": (".cursor/mcp.json", ("mcpServers",)),
    "vscode": (".config/Code/User/mcp.json", ("servers",)),
    "windsurf": (".codeium/windsurf/mcp_config.json", ("mcpServers",)),
    "zed": (".config/zed/settings.json", ("context_servers",)),
    "cline": (".cline/data/settings/cline_mcp_settings.json", ("mcpServers",)),
    "codex": (".codex/config.toml", ("mcp_servers",)),
    "gemini-cli": (".gemini/settings.json", ("mcpServers",)),
    "opencode": (".config/opencode/opencode.jsonc", ("mcp",)),
    "lm-studio": (".lmstudio/mcp.json", ("mcpServers",)),
}


class Home:
    """A person's home directory with a config in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "workbench-config.json"
        self.config.write_text('{"toolboxes": {}}')

    def client(self, path: str, text: str | None = None) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            file.write_text(text)
        return file

    def backups(self) -> list[Path]:
        return list(self.root.rglob("*.bak"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "WORKBENCH_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return Home(tmp_path)


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", action="append")
    install.add_arguments(parser)
    return install.run(parser.parse_args(arguments))


def undo(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    uninstall.add_arguments(parser)
    return uninstall.run(parser.parse_args(arguments))


def servers(file: Path, key: str = "mcpServers") -> dict[str, Any]:
    return parse(file.read_text()).value[key]


@pytest.mark.parametrize("client", list(FILES))
def test_the_entry_starts_the_workbench_from_anywhere_and_uninstall_leaves_the_file_as_it_was(
    home: Home, client: str
) -> None:
    place, keys = FILES[client]
    text = 'model = "x" # mine\r\n' if place.endswith(".toml") else "{\r\n  // mine\r\n}\r\n"
    file = home.client(place)
    file.write_bytes(text.encode())
    assert run(client) == 0
    entry: Any = Format.of(file).parse(file.read_bytes().decode())
    for key in (*keys, "workbench"):
        entry = entry[key]
    line = [*entry["command"], *entry.get("args", [])] if client == "opencode" else [entry["command"], *entry["args"]]
    assert Path(line[0]).is_absolute()
    assert line[-2:] == ["--config", str(home.config)]
    assert entry.get("type") == {"vscode": "stdio", "opencode": "local"}.get(client)
    changed = file.read_bytes()
    assert run(client) == 0
    assert file.read_bytes() == changed
    assert b"\n" not in changed.replace(b"\r\n", b"")
    assert undo(client) == 0
    assert file.read_bytes() == text.encode()


def test_without_an_executable_the_module_is_run(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert install.workbench_command() == [str(tmp_path / "bin" / "python"), "-m", "mcp_workbench"]
    beside = home.client("bin/mcp-workbench", "#!")
    assert install.workbench_command()[1:] == ["-m", "mcp_workbench"]
    beside.chmod(0o755)
    assert install.workbench_command() == [str(beside)]


def test_everything_else_in_the_file_stays_and_a_backup_is_kept(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        '{\n\t// my settings\n\t"newerThanUs": {"x": [1,2 ,3]},\n'
        '\t"mcpServers": {\n\t\t"a": {"command": "x"}, // mine\n\t},\n\t"z": null\n}\n'
    )
    file = home.client(DESKTOP, text)
    file.chmod(0o600)
    run("claude-desktop")
    changed = file.read_text()
    before, after = changed.split('\t\t"workbench"')
    assert before == text[: text.index('\t},\n\t"z"')]
    assert after.endswith('\n\t},\n\t"z": null\n}\n')
    assert file.stat().st_mode & 0o777 == 0o600
    assert [backup.read_text() for backup in home.backups()] == [text]
    shown = capsys.readouterr().out
    assert str(home.backups()[0]) in shown
    assert "Restart Claude Desktop" in shown


def test_running_it_again_changes_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    file = home.client(DESKTOP, '{"mcpServers": {}}')
    run("claude-desktop")
    text, stamp = file.read_text(), file.stat().st_mtime_ns
    capsys.readouterr()
    assert run("claude-desktop") == 0
    assert "nothing to change" in capsys.readouterr().out
    assert (file.read_text(), file.stat().st_mtime_ns, len(home.backups())) == (text, stamp, 1)


def test_a_dry_run_shows_the_change_and_writes_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    text = '{\n  "mcpServers": {\n    "a": {"command": "x", "env": {"API_KEY": "hunter22"}}\n  }\n}\n'
    file = home.client(DESKTOP, text)
    assert run("claude-desktop", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert '+    "workbench": {' in shown
    assert "hunter22" not in shown
    assert file.read_text() == text
    assert home.backups() == []


def test_an_older_workbench_is_brought_up_to_date_and_keeps_what_people_added(home: Home) -> None:
    old = {"command": "/old/mcp-workbench", "args": [], "env": {"A": "1"}, "autoApprove": ["x"]}
    file = home.client(".cursor/mcp.json", json.dumps({"mcpServers": {"workbench": old}}))
    run("cursor")
    entry = servers(file)["workbench"]
    assert entry["args"][-2:] == ["--config", str(home.config)]
    assert (entry["env"], entry["autoApprove"]) == ({"A": "1"}, ["x"])


def test_a_workbench_under_another_name_is_found(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    file = home.client(".cursor/mcp.json", "{}")
    run("cursor", "--name", "tools")
    assert run("cursor") == 0
    assert "as 'tools': nothing to change" in capsys.readouterr().out
    assert list(servers(file)) == ["tools"]


def test_a_workbench_that_is_started_otherwise_is_not_doubled(home: Home) -> None:
    home.client(".cursor/mcp.json", '{"mcpServers": {"wb": {"command": "uvx", "args": ["mcp-workbench"]}}}')
    with pytest.raises(WorkbenchError, match="--name wb"):
        run("cursor")


def test_another_server_of_that_name_is_not_overwritten(home: Home) -> None:
    text = '{"mcpServers": {"workbench": {"command": "carpentry"}}}'
    file = home.client(".cursor/mcp.json", text)
    with pytest.raises(WorkbenchError, match="another server named 'workbench': choose a name with --name"):
        run("cursor")
    assert file.read_text() == text
    run("cursor", "--name", "mine")
    assert list(servers(file)) == ["workbench", "mine"]


def test_the_file_is_made_when_the_client_is_there_and_not_otherwise(home: Home) -> None:
    with pytest.raises(WorkbenchError, match="Claude Code does not seem to be installed here"):
        run("claude-code")
    (home.root / ".claude").mkdir()
    run("claude-code")
    assert list(servers(home.root / ".claude.json")) == ["workbench"]
    assert home.backups() == []


def test_an_empty_file_is_filled(home: Home) -> None:
    file = home.client(DESKTOP, "")
    run("claude-desktop")
    assert list(servers(file)) == ["workbench"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{ nope", "cannot be understood, so nothing was changed"),
        ("[1]", "does not hold a JSON object"),
        ('{"mcpServers": []}', "mcpServers is not a JSON object"),
        ('{"mcpServers": null}', "mcpServers is not a JSON object"),
    ],
)
def test_a_file_that_makes_no_sense_is_left_alone(home: Home, text: str, problem: str) -> None:
    file = home.client(DESKTOP, text)
    with pytest.raises(WorkbenchError, match=problem):
        run("claude-desktop")
    assert file.read_text() == text
    assert home.backups() == []


def test_a_file_that_cannot_be_changed_safely_is_left_to_its_owner(home: Home) -> None:
    text = '{"mcpServers": {"a": {} // mine\r}}'
    file = home.client(DESKTOP)
    file.write_bytes(text.encode())
    with pytest.raises(WorkbenchError) as caught:
        run("claude-desktop")
    assert "Add this to it by hand:" in str(caught.value)
    assert '"workbench": {' in str(caught.value)
    assert file.read_bytes() == text.encode()


def test_a_read_only_file_is_left_alone(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home.client(DESKTOP, "{}")
    file.chmod(0o400)

    def as_for_an_ordinary_user(path: str | Path, mode: int) -> bool:
        return mode != os.W_OK or bool(os.stat(path).st_mode & 0o200)

    # Root, as whom tests may run, can write everything.
    monkeypatch.setattr(os, "access", as_for_an_ordinary_user)
    with pytest.raises(WorkbenchError, match="it is read-only"):
        run("claude-desktop")
    assert file.read_text() == "{}"
    assert home.backups() == []


def test_a_directory_in_the_files_place_is_a_problem(home: Home) -> None:
    home.client(f"{DESKTOP}/x", "")
    with pytest.raises(WorkbenchError, match="is a directory"):
        run("claude-desktop")


def test_a_link_to_the_file_is_followed(home: Home) -> None:
    real = home.client("dotfiles/claude.json", "{}")
    link = home.client(DESKTOP)
    link.symlink_to(real)
    run("claude-desktop")
    assert link.is_symlink()
    assert list(servers(real)) == ["workbench"]


def test_an_interrupted_write_leaves_the_old_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home.client(DESKTOP, '{"a": 1}')

    def interrupt(source: str, target: str) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run("claude-desktop")
    assert file.read_text() == '{"a": 1}'
    assert list(file.parent.iterdir()) == [file]


def test_a_config_that_does_not_load_is_not_installed(home: Home) -> None:
    file = home.client(DESKTOP, "{}")
    home.config.write_text("{}")
    with pytest.raises(ConfigError):
        run("claude-desktop")
    assert file.read_text() == "{}"


class TestVariables:
    """Claude Desktop starts servers without the variables of a person's shell."""

    @pytest.fixture(autouse=True)
    def config_with_a_variable(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        server = {"_comment": "${NOT_A_REFERENCE}", "command": "x", "env": {"K": "${MY_KEY}", "H": "${HOME}"}}
        document = {"toolboxes": {"d": {"description": "D", "mcpServers": {"s": server}}}}
        home.config.write_text(json.dumps(document))
        monkeypatch.setenv("MY_KEY", "hunter22")

    def test_a_client_that_passes_none_is_said_to(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        file = home.client(DESKTOP, "{}")
        run("claude-desktop")
        assert "does not pass your shell's variables on, and the config uses MY_KEY:" in capsys.readouterr().out
        assert "hunter22" not in file.read_text()

    def test_their_values_go_into_the_entry_only_when_asked_for(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = home.client(DESKTOP, "{}")
        run("claude-desktop", "--pass-env", "--dry-run")
        assert "hunter22" not in capsys.readouterr().out
        run("claude-desktop", "--pass-env")
        assert servers(file)["workbench"]["env"] == {"MY_KEY": "hunter22"}
        assert "does not pass" not in capsys.readouterr().out
        text = file.read_text()
        run("claude-desktop")
        assert file.read_text() == text

    def test_a_file_that_others_can_read_is_named_when_values_go_into_it(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = home.client(DESKTOP, "{}")
        file.chmod(0o644)
        run("claude-desktop", "--pass-env")
        assert f"Other users can read {file}, and it holds values now: chmod 600 {file}" in capsys.readouterr().out

    def test_a_client_that_passes_them_needs_no_advice(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        home.client(".cursor/mcp.json", "{}")
        run("cursor")
        assert "MY_KEY" not in capsys.readouterr().out


def test_servers_that_the_client_also_has_are_named(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    server = {"command": "x"}
    home.config.write_text(
        json.dumps({"toolboxes": {"d": {"description": "D", "mcpServers": {"both": server, "ours": server}}}})
    )
    file = home.client(".cursor/mcp.json", json.dumps({"mcpServers": {"both": server, "theirs": server}}))
    run("cursor")
    shown = capsys.readouterr().out
    assert f"still starts these itself too, so a model sees their tools twice:\n  both  {file}\n" in shown
    assert "Run this command with --replace" in shown


class TestReplacing:
    """Servers that the workbench has are taken out of the client's file, and come back."""

    TEXT = """{
  // my servers
  "mcpServers": {
    "both": {"command": "x", "env": {"API_KEY": "hunter22"}}, // the first
    "theirs": {"command": "y"},
    // the last one
    "also": {
      "command": "z",
      "args": []
    }
  },
  "numStartups": 3
}
"""

    @pytest.fixture(autouse=True)
    def config_with_both(self, home: Home) -> None:
        both = {"command": "x", "env": {"API_KEY": "${API_KEY}"}}
        servers = {"both": both, "also": {"command": "z"}, "ours": {"command": "w"}}
        home.config.write_text(json.dumps({"toolboxes": {"d": {"description": "D", "mcpServers": servers}}}))

    def test_only_what_the_workbench_has_goes_and_it_comes_back_to_the_byte(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = home.client(".claude.json", self.TEXT)
        assert run("claude-code", "--replace") == 0
        assert list(servers(file)) == ["theirs", "workbench"]
        assert "// the last one" in file.read_text()
        shown = capsys.readouterr().out
        assert "Took out what the workbench now starts: both, also" in shown
        assert "starts these itself" not in shown
        assert "Not set here: API_KEY." in shown
        assert undo("claude-code") == 0
        assert file.read_text() == self.TEXT
        assert "Put back: both, also" in capsys.readouterr().out

    def test_what_is_remembered_is_for_its_owner_alone_and_gone_afterwards(self, home: Home) -> None:
        home.client(".claude.json", self.TEXT)
        run("claude-code", "--replace")
        (memory,) = (home.root / ".local/share/mcp-workbench").rglob("*.json")
        assert memory.stat().st_mode & 0o777 == 0o600
        undo("claude-code")
        assert not memory.exists()

    def test_a_dry_run_of_either_changes_and_shows_no_secret(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = home.client(".claude.json", self.TEXT)
        run("claude-code", "--replace", "--dry-run")
        assert file.read_text() == self.TEXT
        run("claude-code", "--replace")
        text = file.read_text()
        undo("claude-code", "--dry-run")
        assert file.read_text() == text
        assert "hunter22" not in capsys.readouterr().out

    def test_a_file_that_changed_since_gets_its_entries_back_and_keeps_the_change(self, home: Home) -> None:
        file = home.client(".claude.json", self.TEXT)
        run("claude-code", "--replace")
        newer = '"also": {"command": "newer"}, "fresh": {"command": "f"},'
        text = file.read_text().replace('"numStartups": 3', '"numStartups": 4')
        file.write_text(text.replace('"mcpServers": {', f'"mcpServers": {{{newer}'))
        undo("claude-code")
        document = parse(file.read_text()).value
        assert document["numStartups"] == 4
        assert document["mcpServers"]["both"] == {"command": "x", "env": {"API_KEY": "hunter22"}}
        assert document["mcpServers"]["also"] == {"command": "newer"}
        assert list(document["mcpServers"]) == ["also", "fresh", "theirs", "both"]

    def test_replacing_later_or_twice_still_leads_back_to_the_beginning(self, home: Home) -> None:
        file = home.client(".claude.json", self.TEXT)
        run("claude-code")
        run("claude-code", "--replace")
        run("claude-code", "--replace")
        assert list(servers(file)) == ["theirs", "workbench"]
        undo("claude-code")
        assert file.read_text() == self.TEXT

    def test_every_scope_is_named_and_a_projects_own_file_left_alone(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        local = {"mcpServers": {"also": {"command": "z", "cwd": "/elsewhere"}}}
        file = home.client(".claude.json", json.dumps({"projects": {str(home.root): local}}))
        shared = home.client(
            ".mcp.json", json.dumps({"mcpServers": {"both": {"command": "x", "env": {"API_KEY": "k"}}}})
        )
        run("claude-code")
        shown = capsys.readouterr().out
        assert f"  also  {file}, for {home.root}\n" in shown
        assert f"  both  {shared}\n" in shown
        assert "A project's file is shared with others, and left alone" in shown
        run("claude-code", "--replace")
        assert parse(file.read_text()).value["projects"][str(home.root)] == {"mcpServers": {}}
        assert "both" in shared.read_text()

    def test_a_client_without_a_file_has_none_afterwards(self, home: Home) -> None:
        (home.root / ".claude").mkdir()
        run("claude-code")
        undo("claude-code")
        assert not (home.root / ".claude.json").exists()

    def test_an_entry_that_nobody_remembers_is_taken_out_too(
        self, home: Home, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = home.client(".cursor/mcp.json", '{"mcpServers": {"wb": {"command": "uvx", "args": ["mcp-workbench"]}}}')
        assert undo("cursor") == 0
        assert servers(file) == {}
        assert undo("cursor") == 0
        assert "Cursor has no workbench: nothing to change." in capsys.readouterr().out

    def test_what_cannot_be_remembered_is_not_taken_out(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        file = home.client(".claude.json", self.TEXT)
        blocked = home.client("blocked", "a file where a directory is needed")
        monkeypatch.setenv("XDG_DATA_HOME", str(blocked))
        with pytest.raises(WorkbenchError, match="cannot be written down, so it could not be undone"):
            run("claude-code", "--replace")
        assert file.read_text() == self.TEXT

    def test_comments_of_a_toml_file_stay_and_come_back(self, home: Home) -> None:
        text = (
            'model = "gpt-5" # mine\n\n# the first\n[mcp_servers.both]\ncommand = "x"\n\n'
            '[mcp_servers.both.env]\nAPI_KEY = "hunter22"\n\n# about theirs\n[mcp_servers.theirs]\ncommand = "y"\n'
        )
        file = home.client(".codex/config.toml", text)
        run("codex", "--replace")
        changed = file.read_text()
        assert "hunter22" not in changed
        assert "# about theirs\n[mcp_servers.theirs]" in changed
        assert "# mine" in changed
        undo("codex")
        assert file.read_text() == text


def test_the_whole_command_as_a_person_runs_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    file = home.client(DESKTOP, '{\n  "mcpServers": {}\n}\n')
    done = subprocess.run(
        [sys.executable, "-m", "mcp_workbench", "--config", "workbench-config.json", "install", "claude-desktop"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Restart Claude Desktop" in done.stdout
    assert servers(file)["workbench"]["args"][-2:] == ["--config", str(home.config)]


def test_eight_at_once_lose_nothing(home: Home) -> None:
    """In one process each: threads would share the lock of none, and the file system is what they meet at."""
    file = home.client(DESKTOP, '{"mcpServers": {}}')
    code = (
        "import argparse, sys; from mcp_workbench.commands import install\n"
        "parser = argparse.ArgumentParser(); parser.add_argument('--config'); install.add_arguments(parser)\n"
        "args = parser.parse_args(['claude-desktop', '--name', sys.argv[1]])\n"
        "print('ready', flush=True); sys.stdin.readline(); sys.exit(install.run(args))\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, f"wb{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=home.root,
            text=True,
        )
        for number in range(8)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [(process.communicate(timeout=60), process.returncode)[1] for process in running] == [0] * 8
    assert sorted(servers(file)) == [f"wb{number}" for number in range(8)]
