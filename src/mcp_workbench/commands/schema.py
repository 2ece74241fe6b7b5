"""`mcp-workbench schema`: the JSON Schema of the config file, for editors."""

import argparse
from typing import Any

from mcp_workbench.commands.terminal import write_json
from mcp_workbench.config import WorkbenchConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Prints the JSON Schema of the config file. Write it to a file and name that in the config's $schema, and "
        "your editor completes and checks the config while you type."
    )


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    write_json(config_schema())
    return 0


def config_schema() -> dict[str, Any]:
    """Return the schema, generated from the models that read the file."""
    schema = WorkbenchConfig.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "MCP Workbench config"}
