"""Several files, other clients' files, and every kind of variable: what they come to, and what is said of mistakes."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.config.loading import LoadedConfig, load_config
from mcp_workbench.config.locations import config_files, file_to_write
from mcp_workbench.config.lookups import Question
from mcp_workbench.config.models import RemoteServer, StdioServer
from mcp_workbench.errors import ConfigError

UNSET = (
    'variable TOKEN is not set; run `export TOKEN=value`, put it into a file that "envFile" names, '
    "or write ${TOKEN:-default} to do without it"
)


class Files:
    """Config files in a directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ: dict[str, str] = {"HOME": str(folder)}

    def write(self, name: str, content: object) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        path.chmod(0o600)
        return path

    def load(self, *contents: object, **options: Any) -> LoadedConfig:
        paths = [self.write(f"{number}.json", content) for number, content in enumerate(contents, 1)]
        return load_config(paths, self.environ, **options)

    def problems(self, *contents: object) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            self.load(*contents)
        return [str(problem).replace(f"{self.folder}{os.sep}", "") for problem in caught.value.placed]

    def notes(self, loaded: LoadedConfig) -> list[str]:
        return [note.replace(f"{self.folder}{os.sep}", "") for note in loaded.notes]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def box(servers: Mapping[str, object] | None = None, **keys: object) -> dict[str, Any]:
    return {"toolboxes": {"dev": {"description": "Work", "mcpServers": servers or {}, **keys}}}


def one(**entry: object) -> dict[str, Any]:
    return box({"api": {"command": "x", **entry}})


def program(loaded: LoadedConfig, name: str = "api") -> StdioServer:
    server = loaded.config.toolboxes["dev"].servers[name]
    assert isinstance(server, StdioServer)
    return server


class TestWhereTheFilesAre:
    @pytest.fixture(autouse=True)
    def _here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))

    def test_options_come_first_and_may_be_several(self) -> None:
        assert config_files(["a", "b"], {"WORKBENCH_CONFIG": "c"}) == [Path("a"), Path("b")]

    def test_the_variable_names_one_or_several(self) -> None:
        assert config_files(None, {"WORKBENCH_CONFIG": os.pathsep.join(["a", "", "~/b"])}) == [
            Path("a"),
            Path.home() / "b",
        ]

    def test_the_users_own_is_read_where_there_is_none_here(self, tmp_path: Path) -> None:
        own = tmp_path / "own" / "mcp-workbench" / "workbench-config.json"
        assert config_files([], {}) == [Path("workbench-config.json")]
        assert file_to_write([], {}) == own
        own.parent.mkdir(parents=True)
        own.touch()
        assert config_files([], {}) == [own]
        Path("workbench-config.json").touch()
        assert config_files([], {}) == [Path("workbench-config.json")]
        assert file_to_write([], {}) == Path("workbench-config.json")
        assert file_to_write(["new.json"], {}) == Path("new.json")


class TestSeveralFiles:
    def test_toolboxes_are_merged_by_name_and_servers_within_them(self, files: Files) -> None:
        first = box({"a": {"command": "a1", "args": ["x"]}, "b": {"command": "b1"}})
        first["toolboxes"]["ops"] = {"description": "Ops", "mcpServers": {}}
        second = {"toolboxes": {"dev": {"mcpServers": {"a": {"command": "a2"}, "c": {"command": "c2"}}}}}
        loaded = files.load({**first, "listing": "compact", "autoOpen": True}, {**second, "listing": "full"})
        assert [(name, program(loaded, name).command) for name in loaded.config.toolboxes["dev"].servers] == [
            ("a", "a2"),
            ("b", "b1"),
            ("c", "c2"),
        ]
        assert program(loaded, "a").args == ()
        assert list(loaded.config.toolboxes) == ["dev", "ops"]
        assert (loaded.config.listing, loaded.config.auto_open) == ("full", True)
        assert [path.name for path in loaded.files] == ["1.json", "2.json"]

    def test_names_are_compared_with_their_variables_filled_in(self, files: Files) -> None:
        files.environ["TEAM"] = "dev"
        loaded = files.load(one(), {"toolboxes": {"${TEAM}": {"mcpServers": {"api": {"command": "y"}}}}})
        assert program(loaded).command == "y"

    def test_a_later_file_can_leave_a_server_out_and_put_it_back(self, files: Files) -> None:
        off = {"toolboxes": {"dev": {"mcpServers": {"api": {"disabled": True}}}}}
        loaded = files.load(one(), off)
        assert loaded.config.toolboxes["dev"].servers == {}
        assert loaded.disabled == (("dev", "api"),)
        assert files.load(one(), off, one()).disabled == ()

    def test_every_problem_names_its_file_and_place(self, files: Files) -> None:
        broken = '{\n  "toolboxes": {"ops": {"description": " ", "mcpServers": []}}\n}'
        assert files.problems(one(args="x"), broken) == [
            "1.json:1:94: toolboxes.dev.mcpServers.api.args: must be a list of strings",
            "2.json:2:40: toolboxes.ops.description: must not be blank",
            "2.json:2:59: toolboxes.ops.mcpServers: must be an object",
        ]

    def test_what_a_later_file_replaces_has_no_problems(self, files: Files) -> None:
        first = {**one(args="x", env={"A": "${UNSET}"}), "listing": "short"}
        assert program(files.load(first, {**one(), "listing": "full"})).command == "x"

    def test_a_toolbox_that_is_a_list_in_one_file(self, files: Files) -> None:
        wrong: dict[str, Any] = {"toolboxes": {"dev": []}}
        assert files.problems(one(), wrong) == ["2.json:1:23: toolboxes.dev: must be an object"]
        assert files.problems(wrong, one()) == ["1.json:1:23: toolboxes.dev: must be an object"]

    def test_dynamic_mode_in_one_of_them_is_an_error_whatever_the_others_say(self, files: Files) -> None:
        for contents in ([{**one(), "toolMode": "dynamic"}, {"toolMode": "proxy"}], [one(), {"toolMode": "dynamic"}]):
            (problem,) = files.problems(*contents)
            assert "toolMode: dynamic mode is no longer supported" in problem

    def test_all_files_that_cannot_be_read_are_named(self, files: Files) -> None:
        assert [problem.split(": ")[0] for problem in files.problems("{", "[]", "")] == [
            "1.json:1:2",
            "2.json:1:1",
            "3.json:1:1",
        ]

    def test_one_that_is_missing_is_skipped_with_a_note(self, files: Files) -> None:
        there, missing = files.write("a.json", one()), files.folder / "none.json"
        loaded = load_config([missing, there], {})
        assert files.notes(loaded) == ["none.json: there is no such file; it was skipped"]
        assert loaded.files == (there,)
        assert loaded.watched == (missing, there)

    def test_when_all_are_missing_each_is_named(self, files: Files) -> None:
        with pytest.raises(ConfigError) as caught:
            load_config([files.folder / "a.json", files.folder / "b.json"], {})
        assert len(caught.value.placed) == 2
        assert "mcp-workbench init" in caught.value.problems[0]


class TestOtherClientsFiles:
    @pytest.mark.parametrize(
        ("name", "key", "toolbox"),
        [
            ("claude_desktop_config.json", "mcpServers", "claude-desktop"),
            (".vscode/mcp.json", "servers", "vscode"),
            (".cursor/mcp.json", "mcpServers", "cursor"),
            (".mcp.json", "mcpServers", "claude-code"),
            ("mine.json", "servers", "vscode"),
            ("mine.json", "mcpServers", "mine"),
        ],
    )
    def test_are_one_toolbox_named_after_what_they_are(self, files: Files, name: str, key: str, toolbox: str) -> None:
        path = files.write(name, {key: {"api": {"command": "x"}}, "theme": "dark"})
        loaded = load_config(path, {})
        assert list(loaded.config.toolboxes) == [toolbox]
        assert loaded.config.toolboxes[toolbox].description.startswith("The servers of ")
        assert loaded.notes == ()

    def test_problems_have_the_path_and_place_of_that_file(self, files: Files) -> None:
        path = files.write(".vscode/mcp.json", '{\n "servers": {\n  "api": {"command": 3}}}')
        with pytest.raises(ConfigError) as caught:
            load_config(path, {})
        assert str(caught.value) == f"{path}:3:22: servers.api.command: must be a string"

    def test_what_vs_code_writes_works(self, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(files.folder)
        content = """{
          // from the documentation
          "inputs": [{"type": "promptString", "id": "api-key", "description": "Key", "password": true}],
          "servers": {
            "api": {"type": "stdio", "command": "x", "args": ["${workspaceFolder}", "${input:api-key}"],
                    "envFile": "${workspaceFolder}/.env"},
            "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"K": "Bearer ${input:api-key}"}},
          },
        }"""
        path = files.write(".vscode/mcp.json", content)
        files.write(".env", "A=1")
        loaded = load_config(path, {"WORKBENCH_INPUTS": '{"api-key": "s3cret-key"}'})
        api, web = loaded.config.toolboxes["vscode"].servers.values()
        assert isinstance(api, StdioServer)
        assert isinstance(web, RemoteServer)
        assert (api.args, api.env) == ((str(files.folder), "s3cret-key"), {"A": "1"})
        assert web.headers == {"K": "Bearer s3cret-key"}
        assert "s3cret-key" in loaded.secrets


class TestVariables:
    def test_what_is_predefined(self, files: Files) -> None:
        names = ["workspaceFolder", "workspaceFolderBasename", "cwd", "userHome", "pathSeparator", "/"]
        loaded = files.load(one(args=[f"${{{name}}}" for name in names]))
        here = Path.cwd()
        assert program(loaded).args == (str(here), here.name, str(here), str(Path.home()), os.sep, os.sep)
        assert loaded.secrets == frozenset()

    def test_the_environment_by_either_spelling(self, files: Files) -> None:
        files.environ |= {"TOKEN": "s3cret-token", "lower": "low"}
        loaded = files.load(one(args=["${env:TOKEN}", "${env:lower}", "${env:NONE:-d}", "${TOKEN}"]))
        assert program(loaded).args == ("s3cret-token", "low", "d", "s3cret-token")
        assert "s3cret-token" in loaded.secrets

    @pytest.mark.parametrize("text", ["${lower}", "${file:x}", "${command:x}", "${env:}", "${env:A B}", "${workspace}"])
    def test_any_other_text_in_braces_is_an_error(self, files: Files, text: str) -> None:
        (problem,) = files.problems(one(args=[text]))
        assert "begins no reference; write ${NAME}" in problem

    def test_null_in_env_takes_the_variable_from_the_environment(self, files: Files) -> None:
        files.environ["TOKEN"] = "s3cret-token"
        assert program(files.load(one(env={"TOKEN": None, "A": "b"}))).env == {"TOKEN": "s3cret-token", "A": "b"}
        (problem,) = files.problems(one(env={"NONE": None}))
        assert "api.env.NONE: variable NONE is not set" in problem

    def test_env_at_the_top_is_for_every_program_and_its_own_wins(self, files: Files) -> None:
        document = box({"a": {"command": "x", "env": {"A": "own"}}, "web": {"url": "https://example.com"}})
        loaded = files.load({**document, "env": {"A": "top", "B": 3}})
        assert program(loaded, "a").env == {"A": "own", "B": "3"}
        assert "own" in loaded.secrets

    def test_a_command_is_never_run_at_load_and_shown_as_it_is_written(self, files: Files) -> None:
        marker = files.folder / "ran"
        text = f"${{cmd: touch {marker}}}"
        entry = program(files.load(one(args=["--token", text], env={"T": text})))
        assert not marker.exists()
        assert entry.commands == {f"touch {marker}"}
        assert entry.describe() == f"x --token '{text}'"
        filled = entry.with_outputs({f"touch {marker}": "out"})
        assert isinstance(filled, StdioServer)
        assert (filled.args, filled.env, filled.commands) == (("--token", "out"), {"T": "out"}, frozenset())
        assert filled.identity() == entry.identity()

    def test_entries_with_commands_are_the_same_when_they_are_read_again(self, files: Files) -> None:
        document = one(env={"T": "${cmd: op read x}"})
        assert program(files.load(document)) == program(files.load(document))
        assert program(files.load(document)) != program(files.load(one(env={"T": "${cmd: op read y}"})))

    def test_a_variable_cannot_smuggle_a_command_in(self, files: Files) -> None:
        files.environ["EVIL"] = "${cmd: touch x}"
        assert program(files.load(one(args=["${EVIL}", "$${cmd: touch x}"]))).commands == frozenset()

    @pytest.mark.parametrize(
        ("document", "place"),
        [
            (box({}, description="${cmd: x}"), "toolboxes.dev.description"),
            (box({"${cmd: x}": {"command": "x"}}), "toolboxes.dev.mcpServers.${cmd: x}"),
            (one(toolFilters=["${cmd: x}"]), "toolboxes.dev.mcpServers.api.toolFilters[0]"),
            (one(envFile="${cmd: x}"), "toolboxes.dev.mcpServers.api.envFile"),
        ],
    )
    def test_a_command_stands_only_in_what_starts_a_server(self, files: Files, document: object, place: str) -> None:
        (problem,) = files.problems(document)
        assert "${cmd:} has a value only when a server starts" in problem

    def test_a_command_must_be_named(self, files: Files) -> None:
        (problem,) = files.problems(one(args=["${cmd: }"]))
        assert "names no command" in problem


class TestInputs:
    DECLARED: tuple[dict[str, Any], ...] = ({"id": "key", "description": "The key", "password": True},)

    def test_a_value_comes_from_the_variable_or_an_env_file_by_either_name(self, files: Files) -> None:
        document = {**one(args=["${input:my-key}"]), "inputs": [{"id": "my-key"}], "envFile": ".env"}
        for line in ("my-key=v1", "MY_KEY=v1"):
            files.write(".env", line)
            assert program(files.load(document)).args == ("v1",)
        files.environ["WORKBENCH_INPUTS"] = '{"my-key": "v2"}'
        assert program(files.load(document)).args == ("v2",)

    def test_without_a_value_it_has_its_default_or_is_not_set(self, files: Files) -> None:
        with_default = {**one(args=["${input:a}"]), "inputs": [{"id": "a", "default": "d"}]}
        assert program(files.load(with_default)).args == ("d",)
        (problem,) = files.problems({**one(args=["${input:a}"]), "inputs": [{"id": "a"}]})
        assert "input 'a' has no value; run `export WORKBENCH_INPUTS='{\"a\": \"value\"}'`" in problem
        (problem,) = files.problems(one(args=["${input:a}"]))
        assert "input 'a' is not among \"inputs\", and has no value" in problem

    def test_a_person_is_asked_for_what_nobody_gave(self, files: Files) -> None:
        asked: list[Question] = []

        def answer(question: Question) -> str:
            asked.append(question)
            return "typed"

        loaded = files.load({**one(args=["${input:key}"]), "inputs": list(self.DECLARED)}, ask=answer)
        assert asked == [Question("key", "The key", True, "dev", "api")]
        assert program(loaded).args == ("typed",)
        assert "typed" in loaded.secrets

    def test_an_input_cannot_be_made_of_itself(self, files: Files) -> None:
        found = files.problems({**one(args=["${input:a}"]), "inputs": [{"id": "a", "default": "${input:a}"}]})
        assert "inputs[0].default: an input cannot be made of inputs" in found[0]

    @pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', "x"])
    def test_a_variable_that_holds_no_inputs_is_described(self, files: Files, text: str) -> None:
        files.environ["WORKBENCH_INPUTS"] = text
        (problem,) = files.problems(one())
        assert problem.startswith("$WORKBENCH_INPUTS: must be a JSON object of texts")


class TestEnvFiles:
    def test_at_the_top_they_give_values_to_variables_and_the_environment_wins(self, files: Files) -> None:
        files.environ["BOTH"] = "environment"
        files.write("a.env", "# comment\nexport ONE='1 # no comment'\nBOTH=file\nTWO=a\n")
        files.write("b.env", "TWO=b\nREF=${ONE}\n")
        loaded = files.load({**one(args=["${ONE}", "${BOTH}", "${TWO}", "${REF}"]), "envFile": ["a.env", "b.env"]})
        assert program(loaded).args == ("1 # no comment", "environment", "b", "${ONE}")
        assert {path.name for path in loaded.watched} == {"1.json", "a.env", "b.env"}

    def test_in_an_entry_they_are_for_that_server_and_env_wins(self, files: Files) -> None:
        files.write("a.env", "A=file\nB=file\n")
        entry = program(
            files.load({**one(envFile="a.env", env={"A": "own"}), "env": {"A": "top", "B": "top", "C": "top"}})
        )
        assert entry.env == {"A": "own", "B": "file", "C": "top"}

    def test_every_value_in_them_is_secret(self, files: Files) -> None:
        files.write("a.env", "A=s3cret-one\n")
        assert "s3cret-one" in files.load({**one(), "envFile": "a.env"}).secrets

    def test_their_names_stand_relative_to_the_config(self, files: Files) -> None:
        files.write("sub/a.env", "A=1")
        path = files.write("sub/c.json", {**one(args=["${A}"]), "envFile": "a.env"})
        assert program(load_config(path, {})).args == ("1",)

    def test_each_file_has_its_own(self, files: Files) -> None:
        files.write("a.env", "A=1")
        files.write("b.env", "A=2")
        first = {**box({"a": {"command": "${A}"}}), "envFile": "a.env"}
        second = {"toolboxes": {"dev": {"mcpServers": {"b": {"command": "${A}"}}}}, "envFile": "b.env"}
        loaded = files.load(first, second)
        assert [program(loaded, name).command for name in "ab"] == ["1", "2"]

    def test_one_that_is_missing_is_noted_and_watched(self, files: Files) -> None:
        loaded = files.load({**one(), "envFile": "none.env"})
        assert files.notes(loaded) == ["none.env: there is no such env file; its variables are taken as not set"]
        assert files.folder / "none.env" in loaded.watched

    def test_a_line_that_cannot_be_read_is_noted_and_the_others_hold(self, files: Files) -> None:
        files.write("a.env", "A=1\nB='open\nC=3\n")
        loaded = files.load({**one(args=["${A}", "${C:-}"]), "envFile": "a.env"})
        assert program(loaded).args[0] == "1"
        assert "a.env:2: this line cannot be read; write it as NAME=value" in files.notes(loaded)

    @pytest.mark.skipif(sys.platform == "win32", reason="permissions are another matter there")
    @pytest.mark.parametrize("mode", [0o640, 0o604])
    def test_one_that_others_can_read_is_noted(self, files: Files, mode: int) -> None:
        files.write("a.env", "A=1").chmod(mode)
        (note,) = files.notes(files.load({**one(), "envFile": "a.env"}))
        assert note.startswith("a.env: other users of this machine can read it; run `chmod 600 ")

    def test_one_that_is_no_file_or_no_text_is_an_error(self, files: Files) -> None:
        (files.folder / "dir.env").mkdir()
        (files.folder / "latin.env").write_bytes(b"A=\xe9")
        (files.folder / "nul.env").write_bytes(b"A=\0")
        for name, reason in (("dir", "is a directory"), ("latin", "is not UTF-8 text"), ("nul", "contains NUL")):
            for document in ({**one(), "envFile": f"{name}.env"}, one(envFile=f"{name}.env")):
                (problem,) = files.problems(document)
                assert f"envFile: the env file {files.folder}".replace(f"{files.folder}", "") in problem
                assert reason in problem


class TestVariablesThatAreNotSet:
    DOCUMENT = box({"good": {"command": "x"}, "bad": {"command": "x", "args": ["${TOKEN}"], "cwd": "${WHERE}"}})

    def test_all_are_named_at_once(self, files: Files) -> None:
        assert len(files.problems(self.DOCUMENT)) == 2

    def test_with_skip_only_their_servers_are_unavailable(self, files: Files) -> None:
        loaded = files.load({**self.DOCUMENT, "unsetVariables": "skip"})
        assert list(loaded.config.toolboxes["dev"].servers) == ["good", "bad"]
        assert list(loaded.unavailable) == [("dev", "bad")]
        assert loaded.unavailable["dev", "bad"].startswith(f"{UNSET}; variable WHERE is not set")
        assert len(loaded.unset) == 2
        assert all(line in loaded.notes for line in loaded.unset)

    def test_a_tolerant_reader_gets_the_same(self, files: Files) -> None:
        assert list(files.load(self.DOCUMENT, tolerant=True).unavailable) == [("dev", "bad")]

    @pytest.mark.parametrize(
        "entry",
        [
            {"url": "${TOKEN}"},
            {"url": "https://example.com:${TOKEN}/"},
            {"url": "https://example.com", "transport": "${TOKEN}"},
            {"url": "https://example.com", "headers": {"A": "${TOKEN}", "${TOKEN}": "x"}},
            {"command": "${TOKEN}", "type": "${TOKEN}"},
            {"command": "x", "env": {"A": "${TOKEN}", "TOKEN": None}},
            {"command": "x", "connectTimeout": "${TOKEN}"},
            {"command": "x", "${TOKEN}": "x"},
            {"command": "x", "envFile": "${TOKEN}.env"},
        ],
    )
    def test_wherever_in_the_entry_it_stands(self, files: Files, entry: dict[str, Any]) -> None:
        loaded = files.load(box({"api": entry}), tolerant=True)
        assert loaded.unavailable["dev", "api"].startswith("variable TOKEN is not set")
        assert loaded.config.toolboxes["dev"].servers["api"].describe()

    def test_other_mistakes_are_errors_all_the_same(self, files: Files) -> None:
        with pytest.raises(ConfigError) as caught:
            files.load(one(args=3, cwd="${TOKEN}"), tolerant=True)
        assert caught.value.problems[0] == "toolboxes.dev.mcpServers.api.args: must be a list of strings"
        assert len(caught.value.problems) == 2

    def test_one_for_every_server_concerns_those_that_do_not_say_otherwise(self, files: Files) -> None:
        document = box({"a": {"command": "x"}, "b": {"command": "x", "env": {"T": "own"}}, "w": {"url": "https://a.b"}})
        loaded = files.load({**document, "env": {"T": "${TOKEN}"}}, tolerant=True)
        assert list(loaded.unavailable) == [("dev", "a")]

    def test_outside_a_server_the_text_stays_as_it_is(self, files: Files) -> None:
        loaded = files.load(box({}, description="for ${TOKEN}"), tolerant=True)
        assert loaded.config.toolboxes["dev"].description == "for ${TOKEN}"

    def test_an_env_file_that_cannot_be_used_is_a_reason_too(self, files: Files) -> None:
        loaded = files.load(one(envFile="."), tolerant=True)
        assert "is a directory" in loaded.unavailable["dev", "api"]
