"""The keys that change how the workbench behaves: their defaults, their levels and what each refuses."""

import json
from typing import Any

import pytest

from mcp_workbench.config.loading import parse_config
from mcp_workbench.config.models import WorkbenchConfig
from mcp_workbench.errors import ConfigError


def document(
    top: dict[str, Any] | None = None, toolbox: dict[str, Any] | None = None, server: dict[str, Any] | None = None
) -> str:
    entry = {"command": "x", **(server or {})}
    box = {"description": "x", "mcpServers": {"api": entry}, **(toolbox or {})}
    return json.dumps({"toolboxes": {"dev": box}, **(top or {})})


def read(**levels: dict[str, Any]) -> WorkbenchConfig:
    return parse_config(document(**levels), "c.json", {}).config


def test_what_a_file_that_says_nothing_means() -> None:
    config = read()
    assert (config.listing, config.listing_limit, config.tool_search, config.auto_open) == ("full", None, False, False)
    assert (config.unset_variables, config.on_tool_change, config.read_only) == ("fail", "warn", False)
    assert (config.log_arguments, config.reload, config.env, config.env_file, config.inputs) == (
        False,
        True,
        {},
        (),
        (),
    )
    box = config.toolboxes["dev"]
    assert (box.listing, box.open_timeout, box.on_tool_change, box.read_only) == (None, 15, None, None)
    entry = box.servers["api"]
    assert (entry.read_only, entry.on_tool_change, entry.dev) == (None, None, None)
    assert config.listing_of("dev") == "full"
    assert config.is_read_only("dev", "api") is False
    assert config.tool_change_policy("dev", "api") == "warn"
    assert config.opens_by_itself is False


def test_a_toolbox_has_the_last_word_on_its_listing() -> None:
    assert read(top={"listing": "compact"}).listing_of("dev") == "compact"
    assert read(top={"listing": "compact"}, toolbox={"listing": "full"}).listing_of("dev") == "full"


@pytest.mark.parametrize(
    ("levels", "read_only"),
    [
        ({"top": {"readOnly": True}}, True),
        ({"top": {"readOnly": True}, "toolbox": {"readOnly": False}}, False),
        ({"toolbox": {"readOnly": True}}, True),
        ({"toolbox": {"readOnly": True}, "server": {"readOnly": False}}, False),
        ({"server": {"readOnly": True}}, True),
    ],
)
def test_the_nearest_word_on_read_only_counts(levels: dict[str, Any], read_only: bool) -> None:
    assert read(**levels).is_read_only("dev", "api") is read_only


@pytest.mark.parametrize(
    ("levels", "policy"),
    [
        ({"top": {"onToolChange": "block"}}, "block"),
        ({"top": {"onToolChange": "block"}, "toolbox": {"onToolChange": "allow"}}, "allow"),
        ({"toolbox": {"onToolChange": "block"}, "server": {"onToolChange": "warn"}}, "warn"),
    ],
)
def test_the_nearest_word_on_changed_tools_counts(levels: dict[str, Any], policy: str) -> None:
    assert read(**levels).tool_change_policy("dev", "api") == policy


@pytest.mark.parametrize("key", ["autoOpen", "toolSearch"])
def test_search_implies_opening_by_itself(key: str) -> None:
    assert read(top={key: True}).opens_by_itself


def test_sources_to_watch() -> None:
    dev = read(server={"dev": {"watch": ["src/**/*.py"], "cwd": "/x"}}).toolboxes["dev"].servers["api"].dev
    assert dev is not None
    assert (dev.watch, dev.cwd) == (("src/**/*.py",), "/x")


@pytest.mark.parametrize(
    ("level", "key", "value", "problem"),
    [
        ("top", "listing", "short", ': must be "full" or "compact"'),
        ("top", "listingLimit", 0, ": must be a positive whole number"),
        ("top", "listingLimit", 1.5, ": must be a positive whole number"),
        ("top", "listingLimit", True, ": must be a positive whole number"),
        ("top", "toolSearch", "yes", ": must be true or false"),
        ("top", "autoOpen", 1, ": must be true or false"),
        ("top", "unsetVariables", "ignore", ': must be "fail" or "skip"'),
        ("top", "onToolChange", "ask", ': must be "warn", "block" or "allow"'),
        ("top", "onToolChange", ["warn"], ': must be "warn", "block" or "allow"'),
        ("top", "readOnly", "yes", ": must be true or false"),
        ("top", "logArguments", 0, ": must be true or false"),
        ("top", "reload", "no", ": must be true or false"),
        ("top", "env", [], ": must be an object"),
        ("top", "env", {"A=": "x"}, ".A=: is not the name of an environment variable"),
        ("top", "envFile", 3, ": must be a list of strings"),
        ("top", "envFile", "", "[0]: must not be blank"),
        ("top", "inputs", {}, ": must be a list"),
        ("top", "inputs", [{"type": "promptString"}], "[0].id: is required"),
        ("toolbox", "listing", "short", ': must be "full" or "compact"'),
        ("toolbox", "openTimeout", 0, ": must be a positive number of seconds"),
        ("toolbox", "openTimeout", "15", ": must be a positive number of seconds"),
        ("toolbox", "onToolChange", "ask", ': must be "warn", "block" or "allow"'),
        ("toolbox", "readOnly", "yes", ": must be true or false"),
        ("server", "readOnly", "yes", ": must be true or false"),
        ("server", "onToolChange", "ask", ': must be "warn", "block" or "allow"'),
        ("server", "dev", True, ": must be an object"),
        ("server", "dev", {}, ".watch: is required"),
        ("server", "dev", {"watch": "*.py"}, ".watch: must be a list of strings"),
        ("server", "dev", {"watch": []}, ".watch: must not be empty"),
        ("server", "dev", {"watch": ["x"], "cdw": "/"}, ": unknown keys: 'cdw'"),
        ("server", "dev", {"watches": ["x"]}, ".watches: unknown key; did you mean 'watch'?"),
    ],
)
def test_a_wrong_value_is_described(level: str, key: str, value: object, problem: str) -> None:
    prefix = {"top": "", "toolbox": "toolboxes.dev.", "server": "toolboxes.dev.mcpServers.api."}[level]
    with pytest.raises(ConfigError) as caught:
        parse_config(document(**{level: {key: value}}), "c.json", {})
    (found,) = caught.value.problems
    assert found.startswith(f"{prefix}{key}{problem}")
