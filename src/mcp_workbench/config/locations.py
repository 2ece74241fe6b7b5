"""Where the config is: what `--config` names, else `$WORKBENCH_CONFIG`, else a file here, else the user's own."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_workbench.directories import config_dir
from mcp_workbench.errors import WorkbenchError

FILE_NAME = "workbench-config.json"


def config_files(options: Sequence[str] | None, environ: Mapping[str, str]) -> list[Path]:
    """The files to read, in the order in which they are merged; they need not exist."""
    named = [*(options or ())] or [name for name in environ.get("WORKBENCH_CONFIG", "").split(os.pathsep) if name]
    if named:
        return [Path(os.path.expanduser(name)) for name in named]
    here, own = Path(FILE_NAME), user_config_file()
    return [own] if own is not None and own.exists() and not here.exists() else [here]


def file_to_write(options: Sequence[str] | None, environ: Mapping[str, str]) -> Path:
    """The file that a command adds servers to: the last that serving reads, or the user's own where there is none."""
    last = config_files(options, environ)[-1]
    if last.exists() or options or environ.get("WORKBENCH_CONFIG"):
        return last
    return user_config_file() or last


def user_config_file() -> Path | None:
    """The config in the user's own directory, which need not exist; None where there is no home."""
    try:
        return config_dir() / FILE_NAME
    except WorkbenchError:
        return None
