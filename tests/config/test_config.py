"""The config file: what is accepted, what it means, and what every mistake in it is called."""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcp_workbench.config.loading import LoadedConfig, config_path, load_config, parse_config
from mcp_workbench.config.models import StdioServer, WorkbenchConfig
from mcp_workbench.errors import ConfigError

SOURCE = "workbench-config.json"
SERVER = "toolboxes.dev.mcpServers.api"
EMPTY_TOOLBOX: dict[str, Any] = {"description": "x", "mcpServers": {}}
ENVIRON = {"TOKEN": "s3cret-token", "TEAM": "dev", "HOME": "/home/me", "EMPTY": ""}


def load(document: object, environ: Mapping[str, str] = ENVIRON) -> LoadedConfig:
    return parse_config(json.dumps(document), SOURCE, environ)


def problems(document: object, environ: Mapping[str, str] = ENVIRON) -> list[str]:
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    with pytest.raises(ConfigError) as caught:
        parse_config(text, SOURCE, environ)
    assert str(caught.value).startswith(f"{SOURCE}:")
    assert all(re.match(rf"{SOURCE}:[0-9]+:[0-9]+$", problem.place) for problem in caught.value.placed)
    return list(caught.value.problems)


def notes(document: object) -> tuple[str, ...]:
    found = load(document).notes
    assert all(re.match(rf"{SOURCE}:[0-9]+:[0-9]+: ", note) for note in found)
    return tuple(note.partition(": ")[2] for note in found)


def with_server(**entry: object) -> dict[str, Any]:
    return {"toolboxes": {"dev": {"description": "Work", "mcpServers": {"api": {"command": "npx", **entry}}}}}


def server(**entry: object) -> StdioServer:
    return stdio_server(load(with_server(**entry)))


def stdio_server(loaded: LoadedConfig) -> StdioServer:
    read = loaded.config.toolboxes["dev"].servers["api"]
    assert isinstance(read, StdioServer)
    return read


class TestWhatIsRead:
    def test_a_complete_entry(self) -> None:
        read = server(
            args=["-y", "pkg", "${ROOT:-.}"],
            env={"LOG_LEVEL": "${LOG_LEVEL:-info}"},
            cwd="${HOME}",
            toolFilters=["read"],
            transport="stdio",
            connectTimeout=5,
            callTimeout=2.5,
            idleTimeout=600,
            inheritEnv=["PYTHONPATH"],
        )
        assert read == StdioServer(
            command="npx",
            args=("-y", "pkg", "."),
            env={"LOG_LEVEL": "info"},
            cwd="/home/me",
            tool_filters=("read",),
            transport="stdio",
            connect_timeout=5,
            call_timeout=2.5,
            idle_timeout=600,
            inherit_env=("PYTHONPATH",),
        )

    def test_an_entry_that_is_only_a_command(self) -> None:
        read = server()
        assert (read.args, read.env, read.cwd, read.inherit_env) == ((), {}, None, False)
        assert (read.connect_timeout, read.call_timeout, read.idle_timeout) == (30, None, None)

    def test_toolboxes_may_be_empty(self) -> None:
        assert load({"toolboxes": {}}).config.toolboxes == {}

    def test_servers_may_be_empty(self) -> None:
        assert load({"toolboxes": {"a": {"description": "x", "mcpServers": {}}}}).config.toolboxes["a"].servers == {}

    def test_the_order_of_the_file_is_kept(self) -> None:
        document = {"toolboxes": dict.fromkeys("zmab", EMPTY_TOOLBOX)}
        assert list(load(document).config.toolboxes) == list("zmab")

    def test_numbers_and_booleans_in_env_are_their_json_text(self) -> None:
        text = json.dumps(with_server(env="ENV")).replace(
            '"ENV"', '{"PORT": 3000, "PYTHON": 3.10, "BIG": 1E5, "ON": true, "OFF": false, "NEG": -1}'
        )
        read = stdio_server(parse_config(text, SOURCE, {})).env
        assert read == {"PORT": "3000", "PYTHON": "3.10", "BIG": "1E5", "ON": "true", "OFF": "false", "NEG": "-1"}

    def test_an_env_name_may_start_with_an_underscore(self) -> None:
        assert server(env={"_JAVA_OPTIONS": "-Xmx1g"}).env == {"_JAVA_OPTIONS": "-Xmx1g"}

    @pytest.mark.parametrize(
        "entry", [{"type": "stdio"}, {"transport": "stdio"}, {"type": "stdio", "transport": "stdio"}]
    )
    def test_either_spelling_of_the_transport(self, entry: dict[str, str]) -> None:
        assert server(**entry).command == "npx"

    @pytest.mark.parametrize("inherit", [True, False])
    def test_inherit_env_may_be_a_boolean(self, inherit: bool) -> None:
        assert server(inheritEnv=inherit).inherit_env is inherit

    def test_null_is_absence_where_there_is_no_default(self) -> None:
        read = server(cwd=None, toolFilters=None, callTimeout=None, idleTimeout=None)
        assert (read.cwd, read.tool_filters, read.call_timeout, read.idle_timeout) == (None, None, None, None)

    def test_models_are_frozen(self) -> None:
        with pytest.raises(ValueError, match="frozen"):
            server().command = "other"

    def test_a_server_does_not_show_its_secrets(self) -> None:
        assert "s3cret" not in repr(load(with_server(args=["${TOKEN}"], env={"A": "${TOKEN}"})))


class TestFilters:
    @pytest.mark.parametrize(
        ("filters", "admitted"),
        [(None, True), (["*"], True), (["other", "*"], True), (["read"], True), (["other"], False), ([], False)],
    )
    def test_a_filter_admits_by_name(self, filters: list[str] | None, admitted: bool) -> None:
        assert server(toolFilters=filters).admits("read") is admitted

    def test_names_are_compared_exactly(self) -> None:
        assert not server(toolFilters=["reader", "Read"]).admits("read")


class TestWhatIsLeftOut:
    def test_a_disabled_server_is_left_out_whatever_it_holds(self) -> None:
        document = with_server()
        servers = document["toolboxes"]["dev"]["mcpServers"]
        servers["off"] = {"disabled": True, "url": "${UNSET}", "args": 3, "toolFilter": "${lower}"}
        loaded = load(document)
        assert list(loaded.config.toolboxes["dev"].servers) == ["api"]
        assert loaded.notes == ()

    def test_a_server_with_disabled_false_is_used(self) -> None:
        assert server(disabled=False).command == "npx"

    def test_comments_are_allowed_everywhere_and_not_expanded(self) -> None:
        comments: dict[str, object] = {"_comment": "${UNSET} ${", "$schema": "${lower}", "_": [{"a": "${"}]}
        document = with_server(**comments)
        toolbox = document["toolboxes"]["dev"] | comments
        toolbox["mcpServers"] |= comments
        document = {"toolboxes": {"dev": toolbox, **comments}, **comments}
        loaded = load(document)
        assert list(loaded.config.toolboxes) == ["dev"]
        assert list(loaded.config.toolboxes["dev"].servers) == ["api"]
        assert loaded.notes == ()

    def test_an_entry_may_be_commented_out_by_its_name(self) -> None:
        document = with_server()
        document["toolboxes"]["_old"] = {"descripton": "x", "mcpServers": {"web": {"url": "${UNSET}"}}}
        document["toolboxes"]["dev"]["mcpServers"]["_web"] = {"url": "${UNSET}", "color": "red"}
        loaded = load(document)
        assert list(loaded.config.toolboxes) == ["dev"]
        assert list(loaded.config.toolboxes["dev"].servers) == ["api"]
        assert loaded.notes == ()

    def test_keys_of_other_clients_are_tolerated_with_one_note_for_the_entry(self) -> None:
        assert notes(with_server(alwaysAllow=[], autoApprove=[], timeout=60, name="x", gallery="${lower}")) == (
            f"{SERVER}: ignored unknown keys: 'alwaysAllow', 'autoApprove', 'timeout', 'name', 'gallery'",
        )

    @pytest.mark.parametrize("key", ["transportType", "description", "icon", "gallery", "version", "tools", "enabled"])
    def test_an_entry_copied_from_another_client_works(self, key: str) -> None:
        assert notes(with_server(**{key: "x"})) == (f"{SERVER}: ignored unknown keys: '{key}'",)

    def test_other_unknown_keys_are_noted_at_every_level(self) -> None:
        document = with_server()
        document["servers_of"] = []
        document["toolboxes"]["dev"]["color"] = "red"
        assert notes(document) == (
            "ignored unknown keys: 'servers_of'",
            "toolboxes.dev: ignored unknown keys: 'color'",
        )

    def test_tool_mode_proxy_is_accepted_with_a_deprecation_note(self) -> None:
        (note,) = notes({"toolboxes": {}, "toolMode": "proxy"})
        assert note.startswith("toolMode: deprecated")


class TestMistakesInKeys:
    @pytest.mark.parametrize(
        ("key", "meant"),
        [
            ("toolFilter", "toolFilters"),
            ("toolfilters", "toolFilters"),
            ("tool_filters", "toolFilters"),
            ("filters", "toolFilters"),
            ("Command", "command"),
            ("arg", "args"),
            ("envs", "env"),
            ("CWD", "cwd"),
            ("disable", "disabled"),
            ("connectionTimeout", "connectTimeout"),
            ("callTimeoutMs", "callTimeout"),
            ("inherit-env", "inheritEnv"),
        ],
    )
    def test_a_near_miss_in_a_server_names_the_key_meant(self, key: str, meant: str) -> None:
        assert f"{SERVER}.{key}: unknown key; did you mean '{meant}'?" in problems(with_server(**{key: "x"}))

    def test_a_near_miss_in_a_toolbox_is_the_only_complaint_about_it(self) -> None:
        found = problems({"toolboxes": {"dev": {"description": "x", "mcpservers": {}}}})
        assert found == ["toolboxes.dev.mcpservers: unknown key; did you mean 'mcpServers'?"]

    def test_a_near_miss_at_the_top(self) -> None:
        assert problems({"toolBoxes": {}}) == ["toolBoxes: unknown key; did you mean 'toolboxes'?"]

    def test_mistakes_inside_a_mistaken_key_are_reported_too(self) -> None:
        found = problems({"Toolboxes": {"dev": {"description": "x", "mcpServers": {"api": {}}}}})
        assert found[1:] == [
            f"{SERVER}.command: is required to start the server; a server elsewhere has a 'url' instead"
        ]

    def test_servers_outside_a_toolbox_are_told_where_they_belong(self) -> None:
        found = problems({"toolboxes": {}, "mcpServers": {"api": {"command": "npx"}}})
        assert found[0].startswith('mcpServers: servers stand in a toolbox: {"toolboxes":')

    def test_a_repeated_key_is_named_with_its_path(self) -> None:
        text = '{"toolboxes": {"dev": {"description": "a", "mcpServers": {}, "description": "b"}, "dev": {}}}'
        assert "toolboxes.dev: this key is given more than once; keep one of them" in problems(text)

    def test_a_repeated_key_deep_in_the_file(self) -> None:
        text = json.dumps(with_server(env="ENV")).replace('"ENV"', '{"A": "1", "A": "1"}')
        assert problems(text) == [f"{SERVER}.env.A: this key is given more than once; keep one of them"]

    def test_names_that_become_the_same(self) -> None:
        (problem,) = problems({"toolboxes": {"dev": EMPTY_TOOLBOX, "${TEAM}": EMPTY_TOOLBOX}})
        assert problem.startswith("toolboxes.${TEAM}: means the same key as 'dev'")

    def test_a_key_may_come_from_a_variable(self) -> None:
        document = with_server(**{"${KEY}": ["a"]})
        loaded = load(document, {"KEY": "args"})
        assert stdio_server(loaded).args == ("a",)
        assert problems(document, {"KEY": "toolFilter"}) == [
            f"{SERVER}.${{KEY}}: unknown key; did you mean 'toolFilters'?"
        ]

    @pytest.mark.parametrize("name", ["", "  ", "\t", "${EMPTY}"])
    def test_names_must_not_be_blank(self, name: str) -> None:
        toolbox = {"description": "x", "mcpServers": {name: {"command": "x"}}}
        found = problems({"toolboxes": {"a": toolbox, name: EMPTY_TOOLBOX}})
        assert [problem.split(": ")[1] for problem in found] == ["must not be blank"] * 2


class TestMistakesInValues:
    @pytest.mark.parametrize(
        ("entry", "problem"),
        [
            ({"command": None}, "command: must be a string"),
            ({"command": ["npx"]}, "command: must be a string"),
            ({"command": ""}, "command: must not be blank"),
            ({"command": "${EMPTY}"}, "command: must not be blank"),
            ({"command": "a\0b"}, "command: must not contain a NUL character"),
            ({"args": "x"}, "args: must be a list of strings"),
            ({"args": {}}, "args: must be a list of strings"),
            ({"args": None}, "args: must be a list of strings"),
            ({"args": ["a", 3]}, "args[1]: must be a string"),
            ({"args": ["\0"]}, "args[0]: must not contain a NUL character"),
            ({"args": ["\ud800"]}, "args[0]: must be valid Unicode text"),
            ({"env": []}, "env: must be an object"),
            ({"env": {"A": None}}, "env.A: variable A is not set"),
            ({"env": {"A B": None}}, 'env["A B"]: must be a string'),
            ({"env": {"A": ["x"]}}, "env.A: must be a string"),
            ({"env": {"A": "\0"}}, "env.A: must not contain a NUL character"),
            ({"env": {"A=B": "x"}}, "env.A=B: is not the name of an environment variable"),
            ({"env": {"": "x"}}, 'env[""]: is not the name of an environment variable'),
            ({"env": {"A\0": "x"}}, 'env["A\\u0000"]: must not contain a NUL character'),
            ({"cwd": 3}, "cwd: must be a string"),
            ({"cwd": ""}, "cwd: must not be blank"),
            ({"toolFilters": "*"}, "toolFilters: must be a list of strings"),
            ({"toolFilters": [1]}, "toolFilters[0]: must be a string"),
            ({"disabled": "yes"}, "disabled: must be true or false"),
            ({"disabled": 1}, "disabled: must be true or false"),
            ({"transport": 3}, 'transport: must be "stdio"'),
            ({"transport": "websocket"}, 'transport: must be "stdio"; for a server with a \'url\', "http" or "sse"'),
            ({"type": "streamable-http"}, "type: is for a server with a 'url', and this one has none"),
            ({"transport": "${SSE:-sse}"}, "transport: is for a server with a 'url'"),
        ],
    )
    def test_a_wrong_value_is_described(self, entry: dict[str, object], problem: str) -> None:
        (found,) = problems(with_server(**entry))
        assert found.startswith(f"{SERVER}.{problem}")

    @pytest.mark.parametrize("key", ["connectTimeout", "callTimeout", "idleTimeout"])
    @pytest.mark.parametrize("value", [0, -1, -0.5, "30", "soon", True, False, [], {}, 10**400, "${TOKEN}"])
    def test_a_timeout_is_a_positive_number(self, key: str, value: object) -> None:
        assert problems(with_server(**{key: value})) == [f"{SERVER}.{key}: must be a positive number of seconds"]

    def test_a_timeout_is_finite(self) -> None:
        text = json.dumps(with_server(callTimeout="X")).replace('"X"', "1e999")
        assert problems(text) == [f"{SERVER}.callTimeout: must be a positive number of seconds"]

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
    def test_numbers_that_are_not_json(self, number: str) -> None:
        text = json.dumps(with_server(callTimeout="X", env={"A": "X"})).replace('"X"', number)
        sentence = "NaN and Infinity are not JSON; write a number"
        assert problems(text) == [f"{SERVER}.callTimeout: {sentence}", f"{SERVER}.env.A: {sentence}"]

    @pytest.mark.parametrize("value", ["PATH", 1, None, {}, [1], [""], ["A=B"], ["A\0"]])
    def test_inherit_env_of_another_type(self, value: object) -> None:
        assert problems(with_server(inheritEnv=value)) == [
            f"{SERVER}.inheritEnv: must be true, false or a list of variable names"
        ]

    @pytest.mark.parametrize(
        ("document", "problem"),
        [
            ({}, "toolboxes: is required"),
            ({"toolboxes": None}, "toolboxes: must be an object"),
            ({"toolboxes": []}, "toolboxes: must be an object"),
            ({"toolboxes": {"a": "x"}}, "toolboxes.a: must be an object"),
            ({"toolboxes": {"a": None}}, "toolboxes.a: must be an object"),
            ({"toolboxes": {"a": {"mcpServers": {}}}}, "toolboxes.a.description: is required"),
            (
                {"toolboxes": {"a": {"description": "\n", "mcpServers": {}}}},
                "toolboxes.a.description: must not be blank",
            ),
            ({"toolboxes": {"a": {"description": 1, "mcpServers": {}}}}, "toolboxes.a.description: must be a string"),
            ({"toolboxes": {"a": {"description": "x"}}}, "toolboxes.a.mcpServers: is required"),
            ({"toolboxes": {"a": {"description": "x", "mcpServers": []}}}, "toolboxes.a.mcpServers: must be an object"),
            (
                {"toolboxes": {"a": {"description": "x", "mcpServers": {"b": None}}}},
                "toolboxes.a.mcpServers.b: must be an object",
            ),
            (
                {"toolboxes": {"a": {"description": "x", "mcpServers": {"b c": {}}}}},
                'toolboxes.a.mcpServers["b c"].command: is required to start the server; '
                "a server elsewhere has a 'url' instead",
            ),
        ],
    )
    def test_a_wrong_shape_is_described(self, document: object, problem: str) -> None:
        assert problems(document) == [problem]

    def test_dynamic_mode_is_no_longer_supported(self) -> None:
        (problem,) = problems({"toolboxes": {}, "toolMode": "dynamic"})
        assert problem == "toolMode: dynamic mode is no longer supported; remove this field"

    @pytest.mark.parametrize("mode", ["static", "", None, 1, ["proxy"], {}])
    def test_any_other_tool_mode_fails(self, mode: object) -> None:
        (problem,) = problems({"toolboxes": {}, "toolMode": mode})
        assert problem.startswith('toolMode: must be "proxy"')


class TestTheReport:
    def test_all_problems_are_reported_at_once_in_the_order_of_the_file(self) -> None:
        document = with_server(args="x", env={"API_KEY": "${API_KEY}"}, toolFilter=["a"])
        document["toolboxes"]["ops"] = {"description": " ", "mcpServers": {"web": {"url": "x"}}}
        with pytest.raises(ConfigError) as caught:
            parse_config(json.dumps(document, indent=2), SOURCE, {})
        assert str(caught.value).splitlines() == [
            f"{SOURCE}: 5 problems",
            f"  {SOURCE}:8:19: {SERVER}.args: must be a list of strings",
            f"  {SOURCE}:10:24: {SERVER}.env.API_KEY: variable API_KEY is not set; run `export API_KEY=value`, "
            'put it into a file that "envFile" names, or write ${API_KEY:-default} to do without it',
            f"  {SOURCE}:12:11: {SERVER}.toolFilter: unknown key; did you mean 'toolFilters'?",
            f"  {SOURCE}:19:22: toolboxes.ops.description: must not be blank",
            f"  {SOURCE}:22:18: toolboxes.ops.mcpServers.web.url: must begin with https:// (or http://)",
        ]

    def test_a_variable_that_is_missing_causes_no_second_complaint(self) -> None:
        assert len(problems(with_server(transport="${UNSET}", connectTimeout="${UNSET}"))) == 2

    def test_no_value_is_quoted(self) -> None:
        secret = "s3cret-token"
        document = with_server(
            args=[{"a": secret}],
            env={"A": [secret], "${TOKEN}=": "x", "B": "${" + secret + "}", "C": secret + "\0"},
            cwd=[secret],
            connectTimeout="${TOKEN}",
            inheritEnv=secret,
            transport=[secret],
            toolFilters="${TOKEN}",
            **{"${TOKEN}": 1},
        )
        document |= {"toolMode": secret}
        found = problems(document)
        assert len(found) >= 9
        assert secret not in str(found)

    def test_a_note_quotes_no_value(self) -> None:
        assert notes(with_server(**{"${TOKEN}": "s3cret-token"})) == (f"{SERVER}: ignored unknown keys: '${{TOKEN}}'",)

    def test_names_that_cannot_be_printed_are_escaped(self) -> None:
        (problem,) = problems({"toolboxes": {"a\n\t": 1}})
        assert problem == 'toolboxes["a\\n\\t"]: must be an object'

    def test_names_that_are_not_unicode_are_refused_in_a_line_that_can_be_printed(self) -> None:
        (problem,) = problems({"toolboxes": {"a\n\ud800": EMPTY_TOOLBOX}})
        assert problem.isprintable()
        assert problem.endswith("must be valid Unicode text (it holds half of a surrogate pair)")

    def test_long_names_are_cut(self) -> None:
        (problem,) = problems({"toolboxes": {"a" * 10_000: 1}})
        assert len(problem) < 200


class TestSecrets:
    def test_values_of_variables_and_of_env_blocks_are_secret(self) -> None:
        loaded = load(with_server(args=["--key=${TOKEN}"], env={"PASSWORD": "literal", "PORT": 3000}))
        assert loaded.secrets == {"s3cret-token", "literal", "3000"}

    def test_a_default_is_not_secret(self) -> None:
        assert load(with_server(args=["${UNSET:-default}"])).secrets == frozenset()

    def test_well_known_variables_are_not_secret(self) -> None:
        assert load(with_server(cwd="${HOME}", env={"HOME": "${HOME}"})).secrets == frozenset()

    def test_names_and_descriptions_are_not_secret(self) -> None:
        toolbox = {"description": "for ${TEAM}", "mcpServers": {"${TEAM}": {"command": "x"}}}
        assert load({"toolboxes": {"${TEAM}": toolbox}}).secrets == frozenset()

    def test_a_variable_in_a_name_is_secret_when_it_is_used_elsewhere(self) -> None:
        toolbox = {"description": "x", "mcpServers": {"${TOKEN}": {"command": "x", "args": ["${TOKEN}"]}}}
        assert load({"toolboxes": {"a": toolbox}}).secrets == {"s3cret-token"}

    def test_a_disabled_server_has_none(self) -> None:
        assert load(with_server(disabled=True, args=["${TOKEN}"], env={"A": "literal"})).secrets == frozenset()

    def test_they_are_not_in_the_repr(self) -> None:
        assert "literal" not in repr(load(with_server(env={"A": "literal"})))


class TestText:
    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "the file is empty"),
            (" \n", "the file is empty"),
            ("[1]", 'the document must be a JSON object with the key "toolboxes"'),
            ('"x"', "the document must be a JSON object"),
            ("null", "the document must be a JSON object"),
            ("# note\n{}", "a comment begins with // here"),
            ('{"a": 1', "the document ends too early"),
            ('{"a": "b', "the string that begins here has no closing quote"),
            ('{"a" 1}', "a colon must stand between"),
            ('{"a": 1 "b": 2}', "a comma may be missing"),
            ('{"a": }', "a value must stand here"),
            ('{"a": "C:\\Users"}', "write a backslash in a string as \\\\"),
            ('{"a": "C:\\users"}', "\\u must be followed by four hexadecimal digits"),
            ('{"a": "b\nc"}', "a string must not contain a line break"),
            ("{} {}", "the document has ended before this"),
            ('{"a": ' + "1" * 5000 + "}", "a number in the document is too long"),
            ("[" * 100_000, "the document is nested too deeply"),
            ('{"_a":' * 100_000 + "1" + "}" * 100_000, "the document is nested too deeply"),
        ],
    )
    def test_what_is_not_json_gets_a_hint(self, text: str, problem: str) -> None:
        (found,) = problems(text)
        assert problem in found

    def test_a_syntax_error_has_a_line_and_a_column(self) -> None:
        with pytest.raises(ConfigError) as caught:
            parse_config('{\n  "a": 1\n  "b": 2\n}', SOURCE, {})
        assert str(caught.value) == f"{SOURCE}:3:3: a comma may be missing before this"

    def test_fifty_levels_are_fine(self) -> None:
        nested: object = 1
        for _ in range(50):
            nested = {"x": [nested]}
        assert load({"toolboxes": {}, "_deep": nested, "gallery": nested}).config.toolboxes == {}

    @pytest.mark.parametrize("depth", range(100, 3000, 50))
    def test_no_depth_is_more_than_an_error(self, depth: int) -> None:
        text = json.dumps(with_server(args="DEEP")).replace('"DEEP"', "[" * depth + "]" * depth)
        assert problems(text)

    def test_a_byte_order_mark_is_accepted(self) -> None:
        assert parse_config(b'\xef\xbb\xbf{"toolboxes": {}}', SOURCE, {}).config.toolboxes == {}

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
    def test_other_encodings_are_recognised(self, encoding: str) -> None:
        (found,) = problems('{"toolboxes": {}}'.encode(encoding))
        assert "UTF-" in found
        assert found.endswith("save it as UTF-8")

    def test_text_that_is_not_utf_8_is_told_by_its_line(self) -> None:
        with pytest.raises(ConfigError) as caught:
            parse_config('{\n"é": 1}'.encode("latin-1"), SOURCE, {})
        assert str(caught.value) == f"{SOURCE}:2:2: this is not UTF-8 text; save the file as UTF-8"


class TestFiles:
    def test_the_option_comes_before_the_variable_and_that_before_the_default(self) -> None:
        assert config_path(["a.json"], {"WORKBENCH_CONFIG": "b.json"}) == Path("a.json")
        assert config_path(None, {"WORKBENCH_CONFIG": "b.json"}) == Path("b.json")
        assert config_path(None, {"WORKBENCH_CONFIG": ""}) == Path("workbench-config.json")
        assert config_path(None, {}) == Path("workbench-config.json")

    def test_a_tilde_is_the_home_directory(self) -> None:
        assert config_path(["~/a.json"], {}) == Path.home() / "a.json"

    def test_a_file_is_loaded(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(with_server()), encoding="utf-8")
        loaded = load_config(path, {})
        assert loaded.path == path
        assert stdio_server(loaded).command == "npx"

    def test_a_missing_file_says_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            load_config(tmp_path / "none.json", {})
        assert str(tmp_path / "none.json") in str(caught.value)
        assert "mcp-workbench init" in str(caught.value)
        assert "--config" in str(caught.value)

    def test_a_directory_is_called_one(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="this is a directory"):
            load_config(tmp_path, {})

    def test_a_name_that_no_file_can_have(self) -> None:
        with pytest.raises(ConfigError, match="not the name of a file"):
            load_config(Path("a\0b"), {})

    def test_a_path_through_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError):
            load_config(tmp_path / "file" / "config.json", {})

    @pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs a user whom permissions bind")
    def test_a_file_that_may_not_be_read(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.touch(mode=0)
        with pytest.raises(ConfigError, match="cannot be read"):
            load_config(path, {})


class TestSchema:
    SCHEMA = WorkbenchConfig.model_json_schema(by_alias=True)

    def test_it_is_a_json_schema_with_a_description_on_every_field(self) -> None:
        jsonschema.Draft202012Validator.check_schema(self.SCHEMA)
        for definition in (self.SCHEMA, *self.SCHEMA["$defs"].values()):
            assert all(field["description"] for field in definition["properties"].values())

    @pytest.mark.parametrize(
        "document",
        [
            {"toolboxes": {}},
            {"$schema": "x", "_comment": 1, "toolboxes": {"_comment": "x"}},
            with_server(_comment=1, args=["${A}"], env={"PORT": 3000, "A": "${B}"}, inheritEnv=True, alwaysAllow=[]),
            with_server(toolFilters=["*"], cwd="x", type="stdio", callTimeout=3, inheritEnv=["A"]),
            {"toolboxes": {"a": {"description": "x", "mcpServers": {"off": {"disabled": True, "url": "x"}}}}},
        ],
    )
    def test_it_accepts_what_the_loader_accepts(self, document: object) -> None:
        load(document, {"A": "a", "B": "b"})
        jsonschema.validate(document, self.SCHEMA)

    @pytest.mark.parametrize(
        "document",
        [
            {},
            {"toolboxes": []},
            {"toolboxes": {"": {"description": "x", "mcpServers": {}}}},
            {"toolboxes": {"a": {"description": " ", "mcpServers": {}}}},
            {"toolboxes": {"a": {"description": "x", "mcpServers": {"b": {}}}}},
            {"toolboxes": {}, "toolMode": "dynamic"},
            with_server(command=""),
            with_server(args="x"),
            with_server(env={"A": []}),
            with_server(connectTimeout=0),
            with_server(inheritEnv="x"),
            with_server(type="sse"),
        ],
    )
    def test_it_refuses_what_the_loader_refuses(self, document: object) -> None:
        assert problems(document)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, self.SCHEMA)
