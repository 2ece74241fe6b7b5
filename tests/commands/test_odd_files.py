"""Files of clients that are not as one would wish: each is one sentence, and nothing is lost or left half-written."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.cli import main
from mcp_workbench.clients.env_file import read_variables
from mcp_workbench.clients.safe_write import MAX_BYTES
from mcp_workbench.config.json_text import parse

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the homes of these tests are laid out as on Linux")


class Home:
    """A home directory with a current directory in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = root / ".config/mcp-workbench/workbench-config.json"

    def file(self, path: str, content: bytes = b"") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def servers(self) -> list[str]:
        boxes: dict[str, Any] = parse(self.own.read_text()).value["toolboxes"]
        return [name for box in boxes.values() for name in box["mcpServers"]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in list(os.environ):
        if name not in {"PATH"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    return Home(tmp_path)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def good(home: Home) -> None:
    home.file(".claude.json", b'{"mcpServers": {"fine": {"command": "x"}}}')


def test_a_pipe_in_the_place_of_a_clients_file_holds_nobody_up(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    good(home)
    (home.root / ".cursor").mkdir()
    os.mkfifo(home.root / ".cursor/mcp.json")
    assert run("import") == 1
    assert "mcp.json cannot be read: it is not an ordinary file" in capsys.readouterr().out
    assert home.servers() == ["fine"]
    assert run("install", "cursor") == 1
    assert "it is not an ordinary file" in capsys.readouterr().err


def test_a_pipe_in_the_place_of_the_config_or_its_env_file_holds_nobody_up(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    good(home)
    home.own.parent.mkdir(parents=True)
    os.mkfifo(home.own)
    assert run("import") == 1
    assert "it is not an ordinary file" in capsys.readouterr().err
    home.own.unlink()
    os.mkfifo(home.own.with_suffix(".env"))
    assert run("import") == 1
    assert "workbench-config.env cannot be read: it is not an ordinary file" in capsys.readouterr().err
    assert not home.own.exists()


def test_a_giant_is_not_read(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    good(home)
    os.truncate(home.file(".cursor/mcp.json"), MAX_BYTES + 1)
    assert run("import") == 1
    assert "mcp.json cannot be read: it is larger than 64 MB" in capsys.readouterr().out
    assert home.servers() == ["fine"]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".cursor/mcp.json", b'\xef\xbb\xbf{\r\n  "mcpServers": {"a": {"command": "x"}}\r\n}\r\n'),
        (".codex/config.toml", b'\xef\xbb\xbf# mine\r\n[mcp_servers.a]\r\ncommand = "x"\r\n'),
    ],
)
def test_marks_and_line_ends_of_windows_are_read_and_kept(home: Home, path: str, content: bytes) -> None:
    file = home.file(path, content)
    assert run("import") == 0
    assert home.servers() == ["a"]
    client = "codex" if path.endswith("toml") else "cursor"
    assert run("install", client, "--replace") == 0
    changed = file.read_bytes()
    assert changed.startswith(b"\xef\xbb\xbf")
    assert b"\n" not in changed.replace(b"\r\n", b"")
    assert run("uninstall", client) == 0
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("path", "content", "problem"),
    [
        (
            ".codex/config.toml",
            b"[mcp_servers.a\n",
            "understood: line 1, column 15: not valid TOML: ",
        ),
        (".codex/config.toml", b"mcp_servers = 3\n", "mcp_servers is not a JSON object"),
        (".cursor/mcp.json", b'{"mcpServers": \xff}', "mcp.json is not UTF-8 text"),
        (".gemini/settings.json", b'{"mcpServers": {"a": {}', "settings.json cannot be understood: line 1"),
        (".config/opencode/opencode.json", b'{"mcp": []}', "mcp is not a JSON object"),
    ],
)
def test_what_cannot_be_understood_is_said_and_keeps_no_other_out(
    home: Home, capsys: pytest.CaptureFixture[str], path: str, content: bytes, problem: str
) -> None:
    good(home)
    file = home.file(path, content)
    assert run("import") == 1
    assert problem in capsys.readouterr().out
    assert home.servers() == ["fine"]
    assert file.read_bytes() == content


def test_a_home_that_cannot_be_looked_at_is_one_sentence(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = home.file("app/workbench-config.json", b'{"toolboxes": {}}')
    loop = home.root / "loop"
    loop.symlink_to(loop)
    monkeypatch.setenv("HOME", str(loop))
    assert run("--config", str(config), "install", "cursor") == 1
    assert "mcp.json cannot be looked at: too many levels of symbolic links" in capsys.readouterr().err


def test_where_nothing_can_be_written_nothing_is(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    home.file(".cursor/mcp.json", b'{"mcpServers": {"a": {"command": "x", "env": {"API_KEY": "k-12345"}}}}')
    home.file(".config/mcp-workbench", b"a file where a directory is needed")
    assert run("import") == 1
    assert "not a directory" in capsys.readouterr().err
    assert sorted(path.name for path in (home.root / ".config").iterdir()) == ["mcp-workbench"]


def test_a_current_directory_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd())\nfrom mcp_workbench.cli import main\nmain(sys.argv[1:])\n"
    for command in (["import"], ["install", "cursor"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            cwd=gone,
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        gone.mkdir(exist_ok=True)
        assert "Traceback" not in done.stderr
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1


def test_imports_at_once_lose_no_server_and_no_secret(home: Home) -> None:
    """In one process each: the file system is what they meet at."""
    code = (
        "import sys; from mcp_workbench.cli import main\n"
        "print('ready', flush=True); sys.stdin.readline(); main(['import', '--from', sys.argv[1]])\n"
    )
    running: list[subprocess.Popen[str]] = []
    for number in range(4):
        entry = {"command": "x", "env": {f"KEY_{number}": f"secret-{number}"}}
        file = home.file(f"{number}.json", json.dumps({"mcpServers": {f"s{number}": entry}}).encode())
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [(process.communicate(timeout=90), process.returncode)[1] for process in running] == [0] * 4
    assert sorted(home.servers()) == ["s0", "s1", "s2", "s3"]
    assert read_variables(home.own.with_suffix(".env")) == {f"KEY_{number}": f"secret-{number}" for number in range(4)}
