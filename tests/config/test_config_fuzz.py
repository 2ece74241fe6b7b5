"""Whatever a file holds, loading it gives a config or a `ConfigError`: never another exception."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.config.loading import LoadedConfig, parse_config
from mcp_workbench.config.models import StdioServer, ToolboxConfig, WorkbenchConfig
from mcp_workbench.errors import ConfigError
from mcp_workbench.redaction import Redactor

SECRET = "9c1f-SECRET-77aa"
ENVIRON = {"A": SECRET, "B": "", "C": "${A}", "D": "stdio", "E": "\udc80"}
ANY_TEXT = st.text(st.characters(categories=None), max_size=8)
TEXT = ANY_TEXT | st.sampled_from(
    ["${A}", "${B}", "${C}", "${D}", "${E}", "${X}", "${X:-y}", "$${", "${", "_c", "*", "\0"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)


def entries(known: frozenset[str], special: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    ours = st.fixed_dictionaries({}, optional={key: special.get(key, JSON) for key in sorted(known)})
    theirs = st.dictionaries(TEXT | st.sampled_from(["toolFilter", "url", "timeout"]), JSON, max_size=2)
    return st.builds(merged, theirs, ours)


def merged(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    return {**theirs, **ours}


WORDS = st.lists(TEXT, max_size=3)
SERVERS = entries(
    StdioServer.known_keys(),
    {"command": TEXT, "args": WORDS, "env": st.dictionaries(TEXT, SCALARS, max_size=3), "toolFilters": WORDS},
)
TOOLBOXES = entries(
    ToolboxConfig.known_keys(),
    {"description": TEXT, "mcpServers": st.dictionaries(TEXT, SERVERS | JSON, max_size=2)},
)
CONFIGS = entries(
    WorkbenchConfig.known_keys(), {"toolboxes": st.dictionaries(TEXT, TOOLBOXES | JSON, min_size=1, max_size=2)}
)

GOOD_TEXT = st.text("ab-é $", min_size=1).filter(str.strip) | st.sampled_from(["${A}", "a ${C}", "${X:-y}", "$${"])
GOOD_SERVERS = st.fixed_dictionaries(
    {"command": GOOD_TEXT},
    optional={
        "args": st.lists(GOOD_TEXT, max_size=3),
        "env": st.dictionaries(GOOD_TEXT, GOOD_TEXT | st.integers() | st.booleans(), max_size=3),
        "cwd": GOOD_TEXT | st.none(),
        "toolFilters": st.lists(GOOD_TEXT, max_size=2) | st.none(),
        "type": st.just("stdio") | st.just("${D}"),
        "connectTimeout": st.floats(0, 1e300, exclude_min=True) | st.integers(1, 10**6),
        "inheritEnv": st.booleans() | st.lists(GOOD_TEXT, max_size=2),
        "disabled": st.booleans(),
        "alwaysAllow": st.lists(TEXT, max_size=2),
        "_comment": TEXT,
    },
)


def outcome(text: str | bytes) -> LoadedConfig | ConfigError:
    """What loading gives; anything but a config or a `ConfigError` fails the test."""
    result = loaded_or_error(text)
    said = result.problems if isinstance(result, ConfigError) else result.notes
    assert said or isinstance(result, LoadedConfig)
    for line in said:
        assert line.strip()
        assert "\n" not in line
        assert SECRET not in line
        line.encode()
    return result


def loaded_or_error(text: str | bytes) -> LoadedConfig | ConfigError:
    try:
        loaded = parse_config(text, "config.json", ENVIRON)
    except ConfigError as error:
        return error
    loaded.config.model_dump_json()
    Redactor(loaded.secrets)("text")
    return loaded


@given(value=JSON)
def test_any_json_value(value: object) -> None:
    outcome(json.dumps(value))


@given(value=CONFIGS)
def test_anything_that_resembles_a_config(value: object) -> None:
    outcome(json.dumps(value))


@given(servers=st.dictionaries(GOOD_TEXT, GOOD_SERVERS, max_size=3))
def test_any_combination_of_good_entries_is_loaded_and_its_secrets_are_known(servers: dict[str, Any]) -> None:
    loaded = outcome(json.dumps({"toolboxes": {"t": {"description": "d", "mcpServers": servers}}}))
    assert isinstance(loaded, LoadedConfig)
    redact = Redactor(loaded.secrets)
    for server in loaded.config.toolboxes["t"].servers.values():
        assert isinstance(server, StdioServer)
        assert SECRET not in redact(str((server.command, server.args, server.env, server.cwd)))


@given(text=st.text(st.characters(categories=None)) | st.text("{}[]\",:$_\\/'#\n 0aeE.-"))
def test_any_text(text: str) -> None:
    outcome(text)


@given(data=st.binary())
def test_any_bytes(data: bytes) -> None:
    outcome(data)


@given(value=CONFIGS, cut=st.integers(0, 400), junk=st.binary(max_size=3))
def test_a_config_damaged_anywhere(value: object, cut: int, junk: bytes) -> None:
    data = json.dumps(value).encode()
    outcome(data[:cut] + junk + data[cut + len(junk) :])


@given(
    names=st.lists(st.text("abc-é ", min_size=1).filter(str.strip), unique=True), arguments=st.lists(st.text("ab$ "))
)
def test_a_correct_config_is_loaded_as_it_stands(names: list[str], arguments: list[str]) -> None:
    servers = {name: {"command": "x", "args": arguments} for name in names}
    loaded = outcome(json.dumps({"toolboxes": {"t": {"description": "d", "mcpServers": servers}}}))
    assert isinstance(loaded, LoadedConfig)
    read = loaded.config.toolboxes["t"].servers
    assert list(read) == names
    assert all(isinstance(server, StdioServer) and list(server.args) == arguments for server in read.values())
