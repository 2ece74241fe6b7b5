"""`mcp-workbench schema`: the JSON Schema of the config file, for editors."""

import argparse
import re
from typing import Any

from mcp_workbench.commands.terminal import write_json
from mcp_workbench.config.models import WorkbenchConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Prints the JSON Schema of the config file. Write it to a file and name that in the config's $schema, and "
        "your editor completes and checks the config while you type."
    )
    parser.epilog = "Example: mcp-workbench schema > workbench-config.schema.json"


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    write_json(config_schema())
    return 0


def config_schema() -> dict[str, Any]:
    """Return the schema, generated from the models that read the file."""
    schema = WorkbenchConfig.model_json_schema(by_alias=True)
    for definition in (schema, *schema["$defs"].values()):
        definition["patternProperties"] |= {_misspelling(key): False for key in definition["properties"]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "MCP Workbench config"}


def _misspelling(key: str) -> str:
    """Return a pattern for a key in other letters, with other joints or in the other number, but not for the key.

    Reading the file refuses these and more, since a filter that is silently ignored exposes tools. Unknown keys that
    resemble none are allowed there, and so they are in the schema.
    """
    words = re.findall("[a-z]+|[A-Z][a-z]+", key.removesuffix("s"))
    anyhow = "[-_ ]?".join("".join(f"[{letter.lower()}{letter.upper()}]" for letter in word) for word in words)
    return f"^(?!{key}$){anyhow}[sS]?$"
