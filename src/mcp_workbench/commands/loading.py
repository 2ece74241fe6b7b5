"""The config that a command works on, and what there is to say about it."""

import argparse
import os
from dataclasses import replace

from mcp_workbench.commands.terminal import console, line
from mcp_workbench.config.loading import LoadedConfig, config_path, load_config
from mcp_workbench.errors import UnknownServer
from mcp_workbench.logs import COMMAND_LOG_LEVEL, log_to_stderr
from mcp_workbench.redaction import Redactor
from mcp_workbench.suggestions import closest


def load(args: argparse.Namespace) -> LoadedConfig:
    """Read the config that the arguments name; from now on its secrets are kept out of the log.

    Raises:
        ConfigError: with every problem of the file.
    """
    loaded = load_config(config_path(args.config, os.environ), os.environ)
    log_to_stderr(args.log_level, Redactor(loaded.secrets), default=COMMAND_LOG_LEVEL)
    return loaded


def only(loaded: LoadedConfig, toolbox: str, server: str) -> LoadedConfig:
    """The config without the servers beside the one that is meant, which need not start for it.

    Raises:
        UnknownServer: The toolbox has no such server.
    """
    box = loaded.config.toolboxes.get(toolbox)
    if box is None:
        return loaded  # opening it says so
    if server not in box.servers:
        raise UnknownServer(
            f"Server '{server}' not found in toolbox '{toolbox}'" + closest(server, list(box.servers), "server")
        )
    alone = box.model_copy(update={"servers": {server: box.servers[server]}})
    return replace(loaded, config=loaded.config.model_copy(update={"toolboxes": {toolbox: alone}}))


def show_notes(loaded: LoadedConfig) -> None:
    """Tell on stderr what the config would better not have."""
    err = console(stderr=True)
    for note in loaded.notes:
        err.print(f"[yellow]note:[/] {line(f'{loaded.path}: {note}')}")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 tool`, `2 tools`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
