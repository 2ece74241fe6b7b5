"""The env file beside a config: secrets that the config refers to by name, readable by their owner alone."""

import io
import re
from collections.abc import Mapping
from pathlib import Path

from mcp_workbench.clients.safe_write import read_text, write_private

_HEAD = "# Secrets of {config}, which refers to them as ${{NAME}}. Keep this file to yourself.\n"
_PLAIN = re.compile(r"[A-Za-z0-9_./:+,@%=-]+")


def env_file_beside(config: Path) -> Path:
    """The env file that belongs to a config: `workbench-config.env` beside `workbench-config.json`."""
    return config.with_suffix(".env")


def read_variables(path: Path) -> dict[str, str]:
    """Return the variables of an env file; none if there is no such file.

    Raises:
        FileProblem: It is there but cannot be read.
    """
    from dotenv import dotenv_values

    text = read_text(path) or ""
    return {name: value for name, value in dotenv_values(stream=io.StringIO(text), interpolate=False).items() if value}


def add_variables(path: Path, config: Path, variables: Mapping[str, str]) -> bool:
    """Write variables into an env file, keeping what it has; tell whether that changed it.

    Raises:
        FileProblem: It cannot be read or written; what was there is untouched.
    """
    known = read_variables(path)
    new = {name: value for name, value in variables.items() if known.get(name) != value}
    if not new:
        return False
    before = read_text(path) or _HEAD.format(config=config.name)
    gap = "" if before.endswith("\n") else "\n"
    write_private(path, before + gap + "".join(f"{name}={_quoted(value)}\n" for name, value in new.items()))
    return True


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
