"""Which config a command that changes one works on, and what the rest of that config says."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mcp_workbench.clients.env_file import env_file_beside, read_variables
from mcp_workbench.clients.json_edit import set_value
from mcp_workbench.clients.safe_write import FileProblem
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import NotJson, parse
from mcp_workbench.config.locations import file_to_write

EMPTY = '{\n  "unsetVariables": "skip",\n  "toolboxes": {}\n}\n'


def config_to_change(options: Sequence[str] | None) -> Path:
    """Return the file that new servers go into: of several the last one, since its word counts most."""
    return Path(os.path.abspath(file_to_write(options, os.environ)))


def make_place(config: Path) -> None:
    """Make the directory of a config: what is to be locked must be there for everybody who comes.

    Raises:
        FileProblem: That is not possible.
    """
    try:
        config.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise FileProblem(f"{config} cannot be written: {config.parent} is not a directory") from None
    except OSError as error:
        raise FileProblem(f"{config} cannot be written: {(error.strerror or 'no access').lower()}") from None


@dataclass(frozen=True)
class Variables:
    """The variables that a config gets from its env files, and where a new one goes."""

    file: Path
    known: Mapping[str, str] = field(repr=False)
    named: Json = None
    """What the config has under `envFile`."""

    def naming(self, text: str) -> str:
        """The config's text with `file` among its env files."""
        name = self.file.name
        listed = [self.named] if isinstance(self.named, str) else self.named
        if not isinstance(listed, list) or not listed:
            return set_value(text, ["envFile"], name)
        return text if name in listed else set_value(text, ["envFile"], [*listed, name])


def variables_of(config: Path, text: str) -> Variables:
    """Return the variables that the text of a config gets from its env files.

    Raises:
        FileProblem: An env file is there but cannot be read.
    """
    named = top_level(text).get("envFile")
    known: dict[str, str] = {}
    for path in _paths(named, config):
        known |= read_variables(path)
    file = env_file_beside(config)
    return Variables(file, {**read_variables(file), **known}, named)


def top_level(text: str) -> dict[str, Json]:
    """Return the members of a config's text; none if it is not one."""
    try:
        value = cast("Json", parse(text).value) if text.strip() else {}
    except NotJson:
        return {}
    return value if isinstance(value, dict) else {}


def _paths(named: Json, config: Path) -> Iterator[Path]:
    for name in [named] if isinstance(named, str) else named if isinstance(named, list) else []:
        if isinstance(name, str) and "${" not in name:
            path = config.parent / Path(name).expanduser()
            if path.is_dir():
                raise FileProblem(f"{path} is no env file: it is a directory")
            yield path
