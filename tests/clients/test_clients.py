"""What the workbench knows of other programs' config files."""

import json
from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.clients.entries import is_workbench
from mcp_workbench.clients.json_edit import UnsafeEdit, set_value
from mcp_workbench.clients.locations import CLIENTS, Machine, locations
from mcp_workbench.clients.preview import mask, preview
from mcp_workbench.clients.reading import ClientFile, client_files, installed_location, matching, named_file
from mcp_workbench.clients.safe_write import FileProblem
from mcp_workbench.clients.secrets import is_secret, looks_secret
from mcp_workbench.clients.variables import Context, Translator, escaped
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import parse
from mcp_workbench.config.variables import expand

LINUX = Machine("linux", {}, PurePosixPath("/home/me"), PurePosixPath("/work/app"))
MACOS = Machine("darwin", {}, PurePosixPath("/Users/me"), PurePosixPath("/work/app"))
WINDOWS = Machine(
    "win32",
    {"APPDATA": r"C:\Users\me\AppData\Roaming", "LOCALAPPDATA": r"C:\Users\me\AppData\Local"},
    PureWindowsPath(r"C:\Users\me"),
    PureWindowsPath(r"D:\app"),
)


def paths(client: str, machine: Machine) -> list[str]:
    return [str(location.path) for location in locations(CLIENTS[client], machine)]


class TestLocations:
    def test_on_linux(self) -> None:
        assert paths("claude-desktop", LINUX) == ["/home/me/.config/Claude/claude_desktop_config.json"]
        assert paths("claude-code", LINUX) == ["/home/me/.claude.json", "/work/app/.mcp.json"]
        assert paths("cursor", LINUX) == ["/home/me/.cursor/mcp.json", "/work/app/.cursor/mcp.json"]
        assert paths("vscode", LINUX) == [
            "/home/me/.config/Code/User/mcp.json",
            "/home/me/.config/Code - Insiders/User/mcp.json",
            "/home/me/.config/Code/User/profiles/*/mcp.json",
            "/home/me/.config/Code - Insiders/User/profiles/*/mcp.json",
            "/work/app/.vscode/mcp.json",
        ]

    def test_on_macos(self) -> None:
        support = "/Users/me/Library/Application Support"
        assert paths("claude-desktop", MACOS) == [f"{support}/Claude/claude_desktop_config.json"]
        assert paths("claude-code", MACOS)[0] == "/Users/me/.claude.json"
        assert paths("cursor", MACOS)[0] == "/Users/me/.cursor/mcp.json"
        assert paths("vscode", MACOS)[0] == f"{support}/Code/User/mcp.json"

    def test_on_windows(self) -> None:
        local, roaming = r"C:\Users\me\AppData\Local", r"C:\Users\me\AppData\Roaming"
        assert paths("claude-desktop", WINDOWS) == [
            rf"{local}\Claude-Data\claude_*\claude_desktop_config.json",
            rf"{local}\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json",
            rf"{roaming}\Claude\claude_desktop_config.json",
        ]
        assert paths("claude-code", WINDOWS) == [r"C:\Users\me\.claude.json", r"D:\app\.mcp.json"]
        assert paths("cursor", WINDOWS)[0] == r"C:\Users\me\.cursor\mcp.json"
        assert paths("vscode", WINDOWS)[0] == rf"{roaming}\Code\User\mcp.json"

    def test_of_the_other_clients_everywhere(self) -> None:
        storage = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
        support = "/Users/me/Library/Application Support"
        roaming = r"C:\Users\me\AppData\Roaming"
        expected = {
            "windsurf": ("/home/me/.codeium/windsurf/mcp_config.json", "/Users/me/.codeium/windsurf/mcp_config.json"),
            "zed": ("/home/me/.config/zed/settings.json", "/Users/me/.config/zed/settings.json"),
            "cline": (f"/home/me/.config/Code/{storage}", f"{support}/Code/{storage}"),
            "codex": ("/home/me/.codex/config.toml", "/Users/me/.codex/config.toml"),
            "gemini-cli": ("/home/me/.gemini/settings.json", "/Users/me/.gemini/settings.json"),
            "opencode": ("/home/me/.config/opencode/opencode.json", "/Users/me/.config/opencode/opencode.json"),
            "lm-studio": ("/home/me/.lmstudio/mcp.json", "/Users/me/.lmstudio/mcp.json"),
        }
        assert {client: (paths(client, LINUX)[0], paths(client, MACOS)[0]) for client in expected} == expected
        assert {client: paths(client, WINDOWS)[0] for client in expected} == {
            "windsurf": r"C:\Users\me\.codeium\windsurf\mcp_config.json",
            "zed": rf"{roaming}\Zed\settings.json",
            "cline": rf"{roaming}\Code\{storage}".replace("/", "\\"),
            "codex": r"C:\Users\me\.codex\config.toml",
            "gemini-cli": r"C:\Users\me\.gemini\settings.json",
            "opencode": r"C:\Users\me\.config\opencode\opencode.json",
            "lm-studio": r"C:\Users\me\.lmstudio\mcp.json",
        }
        assert paths("codex", LINUX)[1:] == ["/work/app/.codex/config.toml"]
        assert paths("opencode", LINUX)[2:] == ["/work/app/opencode.json", "/work/app/opencode.jsonc"]

    def test_the_other_variables_that_move_files_are_followed(self) -> None:
        machine = Machine("linux", {"CODEX_HOME": "/x", "CLINE_MCP_SETTINGS_PATH": "/y/c.json"}, LINUX.home, LINUX.cwd)
        assert paths("codex", machine)[0] == "/x/config.toml"
        assert paths("cline", machine)[0] == "/y/c.json"

    def test_of_two_names_a_client_has_the_one_that_is_there(self, tmp_path: Path) -> None:
        machine = Machine("linux", {}, tmp_path, tmp_path / "work")
        folder = tmp_path / ".config/opencode"
        folder.mkdir(parents=True)
        assert installed_location(CLIENTS["opencode"], machine) == folder / "opencode.json"
        (folder / "opencode.jsonc").touch()
        assert installed_location(CLIENTS["opencode"], machine) == folder / "opencode.jsonc"

    def test_windows_without_its_variables_falls_back_to_the_home_directory(self) -> None:
        bare = Machine("win32", {}, WINDOWS.home, WINDOWS.cwd)
        assert paths("vscode", bare)[0] == r"C:\Users\me\AppData\Roaming\Code\User\mcp.json"

    def test_the_variables_that_move_files_are_followed(self) -> None:
        moved = {"XDG_CONFIG_HOME": "/cfg", "CLAUDE_CONFIG_DIR": "/claude"}
        machine = Machine("linux", moved, LINUX.home, LINUX.cwd)
        assert paths("claude-desktop", machine) == ["/cfg/Claude/claude_desktop_config.json"]
        assert paths("claude-code", machine)[0] == "/claude/.claude.json"

    def test_in_the_home_directory_the_same_file_is_not_named_twice(self) -> None:
        assert paths("cursor", Machine("linux", {}, LINUX.home, LINUX.home)) == ["/home/me/.cursor/mcp.json"]

    def test_a_packaged_client_is_found_by_the_folder_that_carries_its_identifier(self, tmp_path: Path) -> None:
        folder = tmp_path / "Packages" / "Claude_abc" / "LocalCache" / "Roaming" / "Claude"
        folder.mkdir(parents=True)
        pattern = (
            tmp_path / "Packages" / "Claude_*" / "LocalCache" / "Roaming" / "Claude" / "claude_desktop_config.json"
        )
        assert matching(pattern) == [folder / "claude_desktop_config.json"]
        assert matching(tmp_path / "None_*" / "x" / "f.json") == []

    def test_a_client_is_installed_when_its_file_or_its_directory_exists(self, tmp_path: Path) -> None:
        machine = Machine("linux", {}, tmp_path, tmp_path / "work")
        assert installed_location(CLIENTS["claude-code"], machine) is None
        (tmp_path / ".claude").mkdir()
        assert installed_location(CLIENTS["claude-code"], machine) == tmp_path / ".claude.json"
        (tmp_path / ".config/Code - Insiders/User").mkdir(parents=True)
        insiders = tmp_path / ".config/Code - Insiders/User/mcp.json"
        assert installed_location(CLIENTS["vscode"], machine) == insiders


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def _is_blocked(document: Json, path: list[str]) -> bool:
    for name in path:
        if not isinstance(document, dict):
            return True
        document = document.get(name, {})
    return False


class TestEditing:
    def test_only_the_new_member_is_added_to_the_text(self) -> None:
        start = '{\n    // mine\n    "theme":  "dark",\n    "mcpServers": {\n'
        text = start + '        "a": {"command": "x"} // first\n    }\n}\n'
        assert set_value(text, ["mcpServers", "b"], {"command": "y"}) == (
            start + '        "a": {"command": "x"}, // first\n'
            '        "b": {\n            "command": "y"\n        }\n    }\n}\n'
        )

    def test_a_trailing_comma_stays_one(self) -> None:
        text = '{\n\t"servers": {\n\t\t"a": 1, // one\n\t},\n}'
        changed = '{\n\t"servers": {\n\t\t"a": 1, // one\n\t\t"b": 2,\n\t},\n}'
        assert set_value(text, ["servers", "b"], 2) == changed

    def test_missing_objects_are_made(self) -> None:
        assert set_value("{}", ["a", "b"], 1) == '{\n  "a": {\n    "b": 1\n  }\n}'

    def test_a_file_on_one_line_stays_on_one_line(self) -> None:
        assert set_value('{"a": {"b": 1}}', ["a", "c"], [2]) == '{"a": {"b": 1, "c": [2]}}'

    def test_windows_line_ends_stay(self) -> None:
        changed = set_value('{\r\n  "a": 1\r\n}\r\n', ["b"], {"c": 2})
        assert changed == '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 2\r\n  }\r\n}\r\n'

    def test_a_value_is_replaced_in_its_place(self) -> None:
        assert set_value('{\n  "a": 1, // keep\n  "b": 2\n}', ["a"], 3) == '{\n  "a": 3, // keep\n  "b": 2\n}'

    def test_a_comment_in_an_empty_object_stays(self) -> None:
        changed = set_value('{\n  "servers": {\n    // none yet\n  }\n}', ["servers", "a"], 1)
        assert "// none yet" in changed
        assert parse(changed).value == {"servers": {"a": 1}}

    def test_a_layout_that_would_break_is_left_alone(self) -> None:
        with pytest.raises(UnsafeEdit, match="too unusual"):
            set_value('{"a": 1 // line ends of another age\r}', ["b"], 2)

    def test_the_same_value_changes_nothing(self) -> None:
        text = '{"a":{"b":  [1,2]}}'
        assert set_value(text, ["a", "b"], [1, 2]) is text

    def test_something_else_than_an_object_on_the_way_is_refused(self) -> None:
        with pytest.raises(UnsafeEdit, match="a is not a JSON object"):
            set_value('{"a": [1]}', ["a", "b"], 1)

    @given(
        st.dictionaries(st.text(), JSON_VALUES, max_size=4),
        st.lists(st.text(), min_size=1, max_size=3),
        JSON_VALUES,
        st.sampled_from([None, 2, 4, "\t"]),
    )
    def test_whatever_the_file_the_result_is_the_old_one_with_the_change(
        self, document: dict[str, Json], path: list[str], value: Json, indent: int | str | None
    ) -> None:
        text = json.dumps(document, indent=indent, ensure_ascii=False)
        if _is_blocked(document, path):
            with pytest.raises(UnsafeEdit, match="is not a JSON object"):
                set_value(text, path, value)
            return
        changed = set_value(text, path, value)
        result = json.loads(changed)
        here = result
        for name in path:
            here = here[name]
        assert here == value
        assert {key: item for key, item in result.items() if key != path[0]} == {
            key: item for key, item in document.items() if key != path[0]
        }


class TestSecrets:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("GITHUB_TOKEN", "anything"),
            ("API_KEY", "xyz"),
            ("apiKey", "xyz"),
            ("OPENAI_APIKEY", "xyz"),
            ("DB_PASSWORD", "1234"),
            ("DB_PWD", "hunter"),
            ("GOOGLE_CREDENTIALS", "{...}"),
            ("SENTRY_DSN", "https://abc@sentry.example/1"),
            ("AZURE_CONNECTION_STRING", "Endpoint=sb://x"),
            ("DATABASE_URL", "postgres://me:pw@db/x"),
            ("AUTHORIZATION", "Bearer x"),
            ("SOMETHING", "ghp_0123456789abcdef"),
            ("SOMETHING", "sk-proj-abcdefgh12345678"),
            ("SOMETHING", "xoxb-123456789012-abcdef"),
            ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
            ("SOMETHING", "4f9c2a7be01d38c6a5f7e2b9d4c1063e"),
            ("HOOK_URL", "https://hooks.example/services/T0/B0/x8Kq2mVb7Zc4Rt9Lp1Wd6Yh3"),
        ],
    )
    def test_these_are_secret(self, name: str, value: str) -> None:
        assert is_secret(name, value)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("GITHUB_TOKEN", ""),
            ("MAX_TOKENS", "4096"),
            ("TOKEN_LIMIT", "many"),
            ("AUTH_TYPE", "oauth"),
            ("AUTH_ENABLED", "true"),
            ("USE_AUTH", "false"),
            ("KEY", "42"),
            ("KEY_FILE", "/etc/key.pem"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
            ("PWD", "/home/me"),
            ("DATABASE_URL", "postgres://me@db/x"),
            ("AUTH_URL", "https://login.example/oauth"),
            ("MODEL", "claude-3-5-sonnet-20241022"),
            ("PROJECT", "123e4567-e89b-12d3-a456-426614174000"),
            ("NOTION_DATABASE_ID", "4f9c2a7be01d38c6a5f7e2b9d4c1063e"),
            ("PACKAGE", "@modelcontextprotocol/server-filesystem"),
            ("SOURCE", "git+https://example.org/r@4f9c2a7be01d38c6a5f7e2b9d4c1063e4f9c2a7b"),
            ("IMAGE", "img@sha256:4f9c2a7be01d38c6a5f7e2b9d4c1063e4f9c2a7be01d38c6a5f7e2b9d4c1063e"),
            ("DIRECTORY", "/home/me/projects2024/averyverylongname1234567890"),
            ("MONKEY", "banana"),
            ("SSH_PUBLIC_KEY", "ssh-ed25519 AAAA"),
        ],
    )
    def test_these_are_settings(self, name: str, value: str) -> None:
        assert not is_secret(name, value)

    def test_a_secret_without_a_name_needs_the_shape_of_one(self) -> None:
        assert looks_secret("ghp_0123456789abcdef")
        assert not looks_secret("server-filesystem")

    def test_a_diff_shows_no_secret_of_either_text(self) -> None:
        before = '{"env": {"API_KEY": "hunter2"}, "args": ["--token", "abc", "--key=def"], "url": "https://h/?k=ghi"}'
        shown = preview(before, before.replace('"env"', '"ENV"'), Path("f"))
        assert "ENV" in shown
        assert not [secret for secret in ("hunter2", "abc", "def", "ghi") if secret in shown]

    def test_references_are_no_secrets(self) -> None:
        assert mask('{"API_KEY": "${KEY}"}', {"API_KEY": "${KEY}"}) == '{"API_KEY": "${KEY}"}'


def translated(
    text: str, client: str = "vscode", platform: str = "linux", project: PurePath | None = None
) -> tuple[str, Translator]:
    inputs: Mapping[str, Mapping[str, Json]] = {
        "token": {"id": "token", "password": True, "description": "Your token"},
        "region": {"id": "region", "default": "eu"},
    }
    translator = Translator(Context(client, platform, project, inputs))
    return translator.translate(text), translator


class TestVariables:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("plain $HOME {x}", "plain $HOME {x}"),
            ("${env:API_URL}/x", "${API_URL}/x"),
            ("${env:http_proxy}", "${HTTP_PROXY}"),
            ("${input:token}", "${TOKEN}"),
            ("${input:region}", "${REGION:-eu}"),
            ("${workspaceFolder}/src", "/work/app/src"),
            ("${workspaceFolderBasename}", "app"),
            ("${userHome}${/}x", "${HOME}/x"),
            ("${VAR:-a}", "${VAR:-a}"),
            ("${config:editor.fontSize}", "$${config:editor.fontSize}"),
            ("$${HOME}", "$$${HOME}"),
            ("a ${unclosed", "a $${unclosed"),
            ("a ${b ${HOME}", "a $${b ${HOME}"),
        ],
    )
    def test_an_editors_variables_become_ours(self, text: str, expected: str) -> None:
        assert translated(text, project=PurePosixPath("/work/app"))[0] == expected

    def test_windows_has_its_own_home_and_separator(self) -> None:
        assert translated("${userHome}${pathSeparator}x", platform="win32")[0] == "${USERPROFILE}\\x"

    def test_without_a_project_the_workspace_is_a_variable_that_need_not_be_set(self) -> None:
        text, translator = translated("${workspaceFolder}")
        assert text == "${WORKSPACE_FOLDER:-.}"
        assert "WORKSPACE_FOLDER" in translator.notes[0]
        assert translator.needed == {}

    def test_what_has_to_be_set_is_remembered_with_where_it_comes_from(self) -> None:
        _, translator = translated("${input:token} ${env:A} ${B:-x}")
        assert {name: needed.source for name, needed in translator.needed.items()} == {
            "TOKEN": "what the client asked you for (Your token)",
            "A": "the environment",
        }

    def test_claude_code_reads_names_in_small_letters_as_variables_and_claude_desktop_does_not(self) -> None:
        assert translated("${token:-x}", "claude-code")[0] == "${TOKEN:-x}"
        assert translated("${token}", "claude-desktop")[0] == "$${token}"

    @given(st.text(alphabet="${}aA:-_/", max_size=30))
    def test_the_expander_accepts_every_translation_of_literal_text_and_gives_it_back(self, text: str) -> None:
        translator = Translator(Context("claude-desktop", "linux", None, {}))
        expansion = expand(translator.translate(text, literal=True), {})
        assert (expansion.value, expansion.problems) == (text, ())

    @given(st.text(alphabet="${}aA:-_/", max_size=30), st.sampled_from(["claude-desktop", "claude-code", "vscode"]))
    def test_the_expander_accepts_every_translation(self, text: str, client: str) -> None:
        result, translator = translated(text, client)
        environ = dict.fromkeys(translator.needed, "v")
        assert expand(result, {"HOME": "/h", **environ}).problems == ()

    @given(st.text(alphabet="${}aA", max_size=20))
    def test_escaped_text_comes_back_as_it_was(self, text: str) -> None:
        assert expand(escaped(text), {}).value == text


class TestReading:
    def test_a_missing_file_is_none_and_an_empty_one_has_no_servers(self, tmp_path: Path) -> None:
        file = ClientFile(CLIENTS["cursor"], tmp_path / "mcp.json")
        assert file.read() is None
        file.path.write_text(" \n")
        assert file.read() == []

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("not json", "cannot be understood"),
            ("[]", "does not hold a JSON object"),
            ('{"mcpServers": []}', "mcpServers is not a JSON object"),
        ],
    )
    def test_a_file_that_makes_no_sense_is_a_problem(self, tmp_path: Path, text: str, problem: str) -> None:
        file = ClientFile(CLIENTS["cursor"], tmp_path / "mcp.json")
        file.path.write_text(text)
        with pytest.raises(FileProblem, match=problem):
            file.read()

    def test_claude_code_has_servers_of_its_own_and_of_each_project(self, tmp_path: Path) -> None:
        file = ClientFile(CLIENTS["claude-code"], tmp_path / ".claude.json")
        projects: Json = {
            "/a": {"mcpServers": {"two": {}, "three": {}}, "disabledMcpServers": ["three"], "history": []},
            "/b": {},
            "/c": None,
        }
        file.path.write_text(json.dumps({"mcpServers": {"one": {}}, "projects": projects, "numStartups": 3}))
        found = file.read() or []
        assert [(server.name, str(server.project), server.disabled) for server in found] == [
            ("one", "None", False),
            ("two", "/a", False),
            ("three", "/a", True),
        ]

    @pytest.mark.parametrize(
        ("name", "content", "client"),
        [
            ("claude_desktop_config.json", {"mcpServers": {}}, "claude-desktop"),
            (".mcp.json", {"mcpServers": {}}, "claude-code"),
            ("any.json", {"servers": {}}, "vscode"),
            ("any.json", {"projects": {}}, "claude-code"),
            ("any.json", {"mcpServers": {}}, "file"),
        ],
    )
    def test_whose_a_named_file_is_shows_in_it(self, tmp_path: Path, name: str, content: Json, client: str) -> None:
        path = tmp_path / name
        path.write_text(json.dumps(content))
        assert named_file(path, None, LINUX).client.id == client

    def test_every_clients_files_are_looked_at(self) -> None:
        assert {file.client.id for file in client_files(CLIENTS.values(), LINUX)} == set(CLIENTS)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"command": "mcp-workbench"}, True),
        ({"command": "/opt/bin/mcp-workbench", "args": []}, True),
        ({"command": r"C:\tools\mcp-workbench.exe"}, True),
        ({"command": "uvx", "args": ["mcp-workbench@latest", "--config", "x"]}, True),
        ({"command": "python", "args": ["-m", "mcp_workbench"]}, True),
        ({"command": "python", "args": ["-m", "mcp_workbench.example_server"]}, False),
        ({"command": "npx", "args": ["/home/me/mcp-workbench/server.js"]}, False),
        ("text", False),
    ],
)
def test_the_workbench_recognises_itself(entry: Json, expected: bool) -> None:
    assert is_workbench(entry) is expected
