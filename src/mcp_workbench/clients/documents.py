"""The two kinds of text that clients keep their servers in, JSON with comments and TOML, read and changed in one way.

Whatever the kind, a change touches what it is about and nothing else, and is checked before it is handed back.
"""

from collections.abc import Sequence
from enum import Enum
from pathlib import PurePath

from mcp_workbench.clients import json_edit, toml_edit
from mcp_workbench.config.document import Json
from mcp_workbench.config.json_text import parse


class Format(Enum):
    """How a file is written."""

    JSON = "JSON"
    TOML = "TOML"

    @classmethod
    def of(cls, path: PurePath) -> "Format":
        """The format of a file, by its name."""
        return cls.TOML if path.suffix == ".toml" else cls.JSON

    @property
    def empty(self) -> str:
        """A file without anything in it."""
        return "" if self is Format.TOML else "{}\n"

    def parse(self, text: str) -> Json:
        """Return what a text says.

        Raises:
            NotJson: It is not of this format.
        """
        return toml_edit.parse(text) if self is Format.TOML else parse(text).value

    def set_value(self, text: str, path: Sequence[str], value: object) -> str:
        """Return the text with `value` at `path`.

        Raises:
            NotJson: The text is not of this format.
            UnsafeEdit: It cannot be changed without risk to the rest of it.
        """
        edit = toml_edit.set_value if self is Format.TOML else json_edit.set_value
        return edit(text, path, value)

    def remove_value(self, text: str, path: Sequence[str]) -> str:
        """Return the text without what stands at `path`.

        Raises:
            NotJson: The text is not of this format.
            UnsafeEdit: It cannot be changed without risk to the rest of it.
        """
        edit = toml_edit.remove_value if self is Format.TOML else json_edit.remove_value
        return edit(text, path)
