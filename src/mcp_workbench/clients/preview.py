"""A change to a file as a diff that is fit for a screen."""

import difflib
from pathlib import Path

from mcp_workbench.clients.secrets import mask
from mcp_workbench.config.json_text import parse


def preview(before: str, after: str, path: Path) -> str:
    """Return a change as a diff in which both texts' secrets are blotted out."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="")
    diff = "\n".join(lines)
    for text in (before, after):
        diff = mask(diff, parse(text).value) if text.strip() else diff
    return diff
