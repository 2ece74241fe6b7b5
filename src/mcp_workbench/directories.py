"""The user's own directories for this program: config, data, state and cache.

Where an XDG variable is set it decides, on every platform; otherwise the platform's own convention does. Nothing is
created here. A home directory that cannot be found is a `WorkbenchError`.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from platformdirs.api import PlatformDirsABC

_NAME = "mcp-workbench"


def config_dir() -> Path:
    """Where the user's config is looked for, and the env file beside it."""
    return _directory("XDG_CONFIG_HOME", lambda dirs: dirs.user_config_dir)


def data_dir() -> Path:
    """Where what must not be lost is kept: logins, accepted tools, what was taken out of clients' files."""
    return _directory("XDG_DATA_HOME", lambda dirs: dirs.user_data_dir)


def state_dir() -> Path:
    """Where the log and the notes of running workbenches are kept."""
    return _directory("XDG_STATE_HOME", lambda dirs: dirs.user_state_dir)


def cache_dir() -> Path:
    """Where what can be made again is kept."""
    return _directory("XDG_CACHE_HOME", lambda dirs: dirs.user_cache_dir)


def _directory(variable: str, own: "Callable[[PlatformDirsABC], str]") -> Path:
    # A relative path in such a variable is invalid by the XDG specification, and to be ignored.
    if (base := os.environ.get(variable, "")) and os.path.isabs(base):
        return Path(base, _NAME)
    from platformdirs import PlatformDirs

    try:
        return Path(own(PlatformDirs(_NAME, appauthor=False)))
    except RuntimeError:
        raise WorkbenchError("there is no home directory to keep files in: set HOME, or name files by option") from None
