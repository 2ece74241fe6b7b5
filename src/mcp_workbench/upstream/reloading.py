"""Taking over changes of the config while serving. What is wrong in a file changes nothing, and is told once."""

import logging
import os
from pathlib import Path

import anyio

from mcp_workbench.config.loading import LoadedConfig, load_config
from mcp_workbench.config.watching import Watch
from mcp_workbench.errors import ConfigError, PlacedProblem, WorkbenchError
from mcp_workbench.toolboxes.manager import ClientManager

logger = logging.getLogger(__name__)

_BETWEEN_LOOKS = 0.5


async def follow_config(manager: ClientManager) -> None:
    """Apply every change of the files that the config is from, until one says `"reload": false`."""
    watch, told = Watch(manager.loaded.watched), ""
    while manager.loaded.config.reload and manager.loaded.paths:
        await anyio.sleep(_BETWEEN_LOOKS)
        if not watch.has_changed():
            continue
        watch.accept()
        try:
            loaded = _read_again(manager.loaded)
        except WorkbenchError as error:
            if str(error) != told:
                logger.error("the config stays as it was, since it cannot be read as it is now: %s", error)
            told = str(error)
            continue
        told = ""
        watch = _applied(loaded, manager, watch)


def _applied(loaded: LoadedConfig, manager: ClientManager, watch: Watch) -> Watch:
    before = manager.loaded
    manager.apply(loaded)
    logger.info("the config has changed, and is in use as it is now: %s", loaded.source)
    for note in loaded.notes:
        if note not in before.notes:
            logger.warning("%s", note)
    return watch if loaded.watched == before.watched else Watch(loaded.watched)


def _read_again(before: LoadedConfig) -> LoadedConfig:
    """Read the files anew. One that was there and is gone is a problem, and not an empty file."""
    gone = [path for path in before.files if not _is_there(path)]
    if gone:
        raise ConfigError(before.source, [PlacedProblem(str(path), "the file is gone") for path in gone])
    return load_config(before.paths, os.environ)


def _is_there(path: Path) -> bool:
    return os.path.exists(path)
