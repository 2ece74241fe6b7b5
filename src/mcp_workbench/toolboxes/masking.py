"""Secrets out of what servers said, before it is written to disk."""

from collections.abc import Callable, Mapping
from typing import Any, cast


def without_secrets(value: Any, redact: Callable[[str], str]) -> Any:
    """The same JSON value with every secret in its texts, keys included, masked."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        entries = cast(Mapping[str, Any], value).items()
        return {redact(key): without_secrets(item, redact) for key, item in entries}
    if isinstance(value, list):
        return [without_secrets(item, redact) for item in cast(list[Any], value)]
    return value
