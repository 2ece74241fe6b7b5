"""A change to a file as a diff that is fit for a screen."""

import difflib
import json
from collections.abc import Iterator
from pathlib import Path

from mcp_workbench.clients.documents import Format
from mcp_workbench.clients.secret_parts import holds_secret
from mcp_workbench.config.document import Json

_MASK = "***"
_SHORT = 6


def preview(before: str, after: str, path: Path) -> str:
    """Return a change as a diff in which both texts' secrets are blotted out."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="")
    diff = "\n".join(lines)
    for text in (before, after):
        if text.strip():
            diff = mask(diff, Format.of(path).parse(text))
    return diff


def mask(text: str, document: Json) -> str:
    """Return a text made from `document` with the strings that hold secrets blotted out."""
    for secret in sorted(set(_secrets(document, "")), key=len, reverse=True):
        for literal in (json.dumps(secret), json.dumps(secret, ensure_ascii=False), f"'{secret}'"):
            text = text.replace(literal, f"{literal[0]}{_MASK}{literal[0]}")
            if len(secret) >= _SHORT:
                text = text.replace(literal[1:-1], _MASK)
    return text


def _secrets(value: Json, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _secrets(item, key)
    elif isinstance(value, list):
        before = name
        for item in value:
            yield from _secrets(item, before)
            before = item if isinstance(item, str) and item.startswith("-") else name
    elif isinstance(value, str) and "${" not in value and (holds_secret(name, value) or _has_query(value)):
        yield value


def _has_query(value: str) -> bool:
    return "://" in value and "?" in value
