"""`mcp-workbench schema`: what an editor is told of the config file is what the workbench reads."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from mcp_workbench.commands.schema import config_schema
from mcp_workbench.config.loading import parse_config
from mcp_workbench.config.models import RemoteServer, StdioServer, ToolboxConfig, WorkbenchConfig
from mcp_workbench.errors import ConfigError
from terminal import run
from wire import Json

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
SCHEMA = config_schema()
KEYS = {
    "top": sorted(WorkbenchConfig.known_keys()),
    "toolbox": sorted(ToolboxConfig.known_keys()),
    "server": sorted(StdioServer.known_keys()),
    "remote server": sorted(RemoteServer.known_keys()),
}


async def test_the_command_prints_it(tmp_path: Path) -> None:
    done = await run("schema", cwd=tmp_path)
    assert (json.loads(done.out), done.err, done.status) == (SCHEMA, "", 0)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["workbench-config.example.json", "workbench-config.test.json"])
def test_the_configs_of_the_repository_satisfy_it(name: str) -> None:
    jsonschema.validate(json.loads((ROOT / name).read_text(encoding="utf-8")), SCHEMA)


def documented(section: str) -> set[str]:
    """The keys that the tables of a section of the reference name."""
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    text = page[page.index(f"\n## {section}\n") + 4 :]
    text = text[: re.search(r"^##", text, re.MULTILINE).start()]  # pyright: ignore[reportOptionalMemberAccess]
    return {key for row in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE) for key in re.findall("`(.+?)`", row)}


def test_the_reference_names_every_key_and_no_other() -> None:
    assert documented("The whole file") == {*KEYS["top"]}
    assert documented("A toolbox") == {*KEYS["toolbox"]}
    assert documented("A server") == {*KEYS["server"], *KEYS["remote server"]} - {"serverUrl", "httpUrl"}


def test_the_schema_has_every_key() -> None:
    models = {"toolbox": "ToolboxConfig", "server": "StdioServer", "remote server": "RemoteServer"}
    for place, model in models.items():
        assert {*SCHEMA["$defs"][model]["properties"]} == {*KEYS[place]} - {"serverUrl", "httpUrl"}
    assert {*SCHEMA["properties"]} == {*KEYS["top"]}


def config_with(place: str, key: str) -> Json:
    """A valid config, but for an additional key in one of its objects."""
    remote = place == "remote server"
    server: Json = {"disabled": False} | ({"url": "https://x"} if remote else {"command": "x"})
    toolbox: Json = {"description": "x", "mcpServers": {"s": server}}
    config: Json = {"toolboxes": {"t": toolbox}}
    {"top": config, "toolbox": toolbox}.get(place, server)[key] = None
    return config


def misspellings(key: str) -> Iterator[str]:
    yield key.lower()
    yield key.upper()
    yield re.sub("([A-Z])", r"_\1", key).lower()
    yield re.sub("([A-Z])", r"-\1", key).lower()
    yield key.removesuffix("s") if key.endswith("s") else key + "s"


@pytest.mark.parametrize(
    ("place", "key"),
    [
        (place, wrong)
        for place, keys in KEYS.items()
        for key in sorted({*keys} - {"serverUrl", "httpUrl"})  # other clients' words, which an editor need not know
        for wrong in sorted({*misspellings(key)} - {*keys})
    ],
)
def test_a_misspelt_key_is_refused_by_the_editor_as_by_the_workbench(place: str, key: str) -> None:
    config = config_with(place, key)
    with pytest.raises(ConfigError, match="did you mean"):
        parse_config(json.dumps(config), "c.json", {})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(config, SCHEMA)


@pytest.mark.parametrize("key", ["alwaysAllow", "timeout", "description", "_toolFilter", "$schema", "somethingElse"])
def test_keys_of_other_clients_and_comments_are_allowed_by_both(key: str) -> None:
    config = config_with("server", key)
    parse_config(json.dumps(config), "c.json", {})
    jsonschema.validate(config, SCHEMA)
