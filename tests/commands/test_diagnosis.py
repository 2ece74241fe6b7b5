"""Why a server could not be connected, and what to do about it; the reasons are ones that real programs gave."""

import os
from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.commands.diagnosis import diagnose
from mcp_workbench.commands.remedies import not_on_path
from mcp_workbench.config.models import StdioServer
from mcp_workbench.downstream.transports.environment import missing_variable_hint

EXITED = "exited with status 1 before it was ready; the last lines of its stderr:\n"


def entry(command: str = "node", *args: str, **more: Any) -> StdioServer:
    return StdioServer(command=command, args=args, **more)


def cause(stderr: str) -> str:
    return diagnose(EXITED + stderr, entry()).cause.removeprefix("exited with status 1 before it was ready: ")


def step(stderr: str, server: StdioServer) -> str:
    return diagnose(EXITED + stderr, server).next_step


class TestCause:
    def test_the_line_of_a_node_error_that_says_what_is_wrong(self) -> None:
        stderr = """node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/notes.js'
    at Function._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:36:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v22.16.0"""
        assert cause(stderr) == "Error: Cannot find module '/srv/notes.js'"

    def test_the_last_exception_of_a_traceback(self) -> None:
        stderr = """Traceback (most recent call last):
  File "server.py", line 2, in <module>
KeyError: 'first'
The above exception was the direct cause of the following exception:
Traceback (most recent call last):
  File "server.py", line 4, in <module>
    raise SystemError
SystemError: the second"""
        assert cause(stderr) == "SystemError: the second"

    def test_the_sentence_about_the_package_among_all_that_npm_says(self) -> None:
        stderr = """npm error code E404
npm error 404 Not Found - GET https://registry.example/some-server - Not found
npm error 404
npm error A complete log of this run can be found in: /home/you/.npm/_logs/debug-0.log"""
        assert cause(stderr) == "npm error 404 Not Found - GET https://registry.example/some-server - Not found"

    def test_the_sentence_of_uv_without_its_drawing(self) -> None:
        stderr = """  × No solution found when resolving tool dependencies:
  ╰─▶ Because some-server was not found in the package registry and you require some-server, we can
      conclude that your requirements are unsatisfiable."""  # noqa: RUF001
        assert cause(stderr) == "some-server was not found in the package registry"

    def test_the_last_line_when_none_complains(self) -> None:
        assert cause("hello\nusage: server DIR\n\n") == "usage: server DIR"

    def test_nothing_is_added_when_there_is_nothing_to_add(self) -> None:
        only_frames = "no answer to initialize within 3 s; the last lines of its stderr:\nnpm warn deprecated x@1"
        assert diagnose(only_frames, entry()).cause == "no answer to initialize within 3 s"
        assert diagnose("it refused initialize: no", entry()).cause == "it refused initialize: no"

    def test_the_path_that_was_searched_is_left_out(self) -> None:
        reason = "command not found: 'x' (install it, or give its full path; the PATH it was looked for in, …, is /bin)"
        assert diagnose(reason, entry("x")).cause == "command not found: 'x'"
        assert diagnose("command not found: '/a/x' (check the path)", entry("/a/x")).cause.endswith("'/a/x'")

    def test_a_long_line_is_cut(self) -> None:
        assert len(diagnose(EXITED + "Error: " + "x" * 5000, entry()).cause) == 300


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH that holds the programs `npx` and `uvx` and nothing else."""
    for name in ("npx", "uvx"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/no/such/folder{os.pathsep}")
    return tmp_path


class TestCommandNotFound:
    def advice(self, command: str, **more: Any) -> str:
        return diagnose(f"command not found: '{command}'", entry(command, **more)).next_step

    def test_a_misspelt_command_gets_the_closest_on_the_path(self, path: Path) -> None:
        assert self.advice("npxx") == f"did you mean npx ({path}/npx)? Else install npxx"

    def test_a_known_one_says_where_to_get_it_and_what_there_is(self, path: Path) -> None:
        advice = self.advice("docker")
        assert advice.startswith(
            "install Docker (https://docs.docker.com/get-docker), or give its full path as command"
        )
        assert advice.endswith("; on PATH are npx, uvx")

    def test_any_other_is_to_be_installed(self, path: Path) -> None:
        assert self.advice("github-mcp-server").startswith(
            "install github-mcp-server, or give its full path as command"
        )

    def test_a_path_that_leads_nowhere(self, path: Path) -> None:
        assert self.advice("/opt/bin/npx") == f"correct the path in command: npx is at {path}/npx"
        assert self.advice("/opt/bin/thing") == "correct the path in command: there is no /opt/bin/thing"

    def test_the_path_is_the_one_that_the_server_gets(self, path: Path) -> None:
        assert "on PATH" not in self.advice("docker", env={"PATH": "/nowhere"})


class TestNextStep:
    @pytest.mark.parametrize(
        ("server", "package", "registry"),
        [
            (entry("npx", "-y", "@a/b", "/tmp"), "@a/b", "npm"),
            (entry("npx", "-y", "--package", "@a/b", "run-b"), "@a/b", "npm"),
            (entry("/usr/bin/uvx", "some-server"), "some-server", "PyPI"),
            (entry("uvx", "--python", "3.13", "--from", "some-server", "serve"), "some-server", "PyPI"),
        ],
    )
    def test_a_package_that_the_registry_does_not_have(self, server: StdioServer, package: str, registry: str) -> None:
        advice = step("npm error 404 Not Found - GET …", server)
        assert advice == f"check the spelling of the package '{package}': {registry} does not have it, or it is private"

    def test_a_package_without_a_program(self) -> None:
        for said in (
            "npm error could not determine executable to run",
            "Package `x` does not provide any executables.",
        ):
            assert step(said, entry("npx", "x")).startswith("the package 'x' has no program of that name")

    def test_a_registry_that_cannot_be_reached(self) -> None:
        assert "check the network" in step("npm error getaddrinfo EAI_AGAIN registry.example", entry("npx", "x"))
        assert "check the network" not in step("connect to db: ENOTFOUND", entry("node"))

    def test_docker_that_does_not_run(self) -> None:
        assert (
            step("docker: Cannot connect to the Docker daemon at …", entry("docker")) == "start Docker, then try again"
        )

    def test_a_path_in_args_that_does_not_exist(self, tmp_path: Path) -> None:
        server = entry("npx", "-y", "@a/server-files", str(tmp_path), "/no/such/folder")
        advice = step("Error: None of the specified directories are accessible", server)
        assert advice == "correct the path in args: /no/such/folder does not exist"

    def test_a_relative_path_is_seen_from_where_the_server_starts(self, tmp_path: Path) -> None:
        server = entry("python3", "src/notes.py", cwd=str(tmp_path))
        advice = step(f"can't open file '{tmp_path}/src/notes.py': No such file or directory", server)
        assert advice == f"correct the path in args: src/notes.py does not exist (seen from {tmp_path})"

    def test_what_only_looks_like_a_path_is_none(self) -> None:
        server = entry("uvx", "mcp-server-time", "--zone", "Mars/Olympus", "https://example.com/x", "@scope/name")
        assert step("Error: invalid zone 'Mars/Olympus'", server).startswith("run it yourself and see: uvx ")

    def test_a_tilde_is_for_shells(self) -> None:
        advice = step("no access", entry("npx", "-y", "server-files", "~/notes"))
        assert advice.startswith("write ${HOME}/notes instead of ~/notes in args")

    def test_a_module_that_python_does_not_have(self) -> None:
        advice = step("/usr/bin/python3: No module named mcp_notes", entry("python3", "-m", "mcp_notes"))
        assert advice.startswith("install the module mcp_notes for python3")

    def test_a_variable_that_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("BRAVE_API_KEY", raising=False)
        said = "Error: BRAVE_API_KEY environment variable is required"
        assert step(said, entry()) == 'give it the variable with "env": {"BRAVE_API_KEY": "${BRAVE_API_KEY}"}'
        monkeypatch.setenv("BRAVE_API_KEY", "x")
        assert "it is set in your shell" in step(said, entry())
        assert step(said, entry(env={"BRAVE_API_KEY": ""})).startswith("run it yourself")

    def test_a_timeout_of_a_program_that_downloads(self) -> None:
        server = entry("npx", "-y", "big", connectTimeout=45)
        advice = diagnose("no answer to initialize within 45 s", server).next_step
        assert advice == (
            'a first start downloads the package: try again, give it longer ("connectTimeout": 90), or run npx -y big'
        )

    def test_a_timeout_of_any_other_program(self) -> None:
        advice = diagnose("no answer to tools/list within 30 s", entry("sleep", "9")).next_step
        assert advice.startswith('is it an MCP server on stdio? If so, give it longer ("connectTimeout": 60)')

    def test_programs_that_are_none(self) -> None:
        assert diagnose("not allowed to run '/a b'", entry("/a b")).next_step == "make it a program: chmod +x '/a b'"
        assert diagnose("cannot run '/a': Exec format error", entry("/a")).next_step.endswith("/a is not a program")

    def test_anything_else_is_best_seen_by_hand(self) -> None:
        advice = step("boom", entry("serve", "--name", "my notes"))
        assert advice == "run it yourself and see: serve --name 'my notes'"


class TestRemediesThatFit:
    def test_a_host_that_is_no_registry_has_nothing_to_do_with_downloads(self) -> None:
        said = step(
            "Error: getaddrinfo ENOTFOUND mcp.stripe.com", entry("npx", "-y", "mcp-remote", "https://mcp.stripe.com")
        )
        assert said.startswith("it cannot reach mcp.stripe.com: check that name, the network")
        slow = (
            "no answer to initialize within 30 s; the last lines of its stderr:\ngetaddrinfo ENOTFOUND mcp.stripe.com"
        )
        assert diagnose(slow, entry("npx", "x")).next_step.startswith("it cannot reach mcp.stripe.com")
        npm = step("npm error getaddrinfo ENOTFOUND registry.example.org", entry("npx", "x"))
        assert npm.startswith("its package cannot be downloaded")

    def test_a_whole_command_line_as_command_is_split(self) -> None:
        said = diagnose("command not found: 'npx -y pkg' (install it, …)", entry("npx -y pkg", "--debug")).next_step
        assert said == 'split it: "command": "npx", "args": ["-y", "pkg", "--debug"]'

    def test_a_directory_that_may_not_be_entered_is_not_to_be_made_a_program(self) -> None:
        said = diagnose("working directory cannot be entered: '/root/x'", entry("node", cwd="/root/x")).next_step
        assert said == "allow yourself to enter /root/x, or give another directory as cwd"

    def test_a_directory_as_command_is_not_to_be_made_a_program(self, tmp_path: Path) -> None:
        said = diagnose(f"not allowed to run '{tmp_path}' (is it an executable file?)", entry(str(tmp_path))).next_step
        assert said == f"correct command: {tmp_path} is a directory"

    def test_an_argument_that_can_be_no_path_ends_no_report(self) -> None:
        assert diagnose(EXITED + "x", entry("node", "./" + "x" * 5000)).next_step.startswith("run it yourself")

    def test_directories_of_the_path_that_may_not_be_read_end_no_report(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def forbidden(folder: str) -> list[str]:
            raise PermissionError(13, "Permission denied", folder)

        monkeypatch.setattr("os.listdir", forbidden)
        assert "install Node.js" in diagnose("command not found: 'npx'", entry("npx", env={"PATH": "/x"})).next_step

    def test_a_variable_that_was_not_passed_is_named_once(self) -> None:
        reason = f"{EXITED}Error: GITHUB_TOKEN is required\n" + (
            missing_variable_hint("GITHUB_TOKEN is required", {}, {"GITHUB_TOKEN": "x"}) or ""
        )
        found = diagnose(reason, entry())
        assert found.cause.endswith("Error: GITHUB_TOKEN is required")
        assert found.next_step == (
            'give it the variable with "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}: it is set in your shell, but a '
            "server gets only what its entry names"
        )

    def test_a_command_is_looked_for_without_starting_it(self, tmp_path: Path) -> None:
        assert not_on_path(entry("sh")) is None
        assert (not_on_path(entry("npx -y pkg")) or "").startswith("command not found: 'npx -y pkg'; split it:")
        assert (not_on_path(entry("no-such-thing-xyz")) or "").startswith(
            "command not found: 'no-such-thing-xyz'; install"
        )
        (tmp_path / "run").write_text("")
        assert not_on_path(entry("./run", cwd=str(tmp_path))) is None
        assert not_on_path(entry("./walk", cwd=str(tmp_path))) is not None
