"""Values that are known only when a server starts: what `${cmd: command args}` prints.

Loading a config never runs a command. It leaves a placeholder where the output will stand, and whoever starts the
server asks for its commands, runs them and fills the placeholders. The placeholder cannot be forged by the value of a
variable, since it holds a number that is drawn anew in every process.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

_NONCE = os.urandom(8).hex()
_PLACEHOLDER = re.compile(rf"cmd-{_NONCE}-((?:[0-9a-f]{{2}})+)-")


def placeholder(command: str) -> str:
    """What stands for the output of a command until it has run; it fits wherever a word does."""
    return f"cmd-{_NONCE}-{command.encode().hex()}-"


def spelled(text: str) -> str:
    """A text with its placeholders as the file has them: `${cmd: …}`."""
    return _PLACEHOLDER.sub(lambda found: f"${{cmd: {_command(found)}}}", text)


def commands_in(value: object) -> frozenset[str]:
    """The commands whose output is needed somewhere in a value."""
    return frozenset(_command(found) for text in _texts(value) for found in _PLACEHOLDER.finditer(text))


def filled(value: Any, outputs: Mapping[str, str]) -> Any:
    """The value with every placeholder replaced by the output of its command."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: outputs[_command(found)], value)
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {filled(key, outputs): filled(item, outputs) for key, item in members.items()}
    if isinstance(value, list | tuple):
        return [filled(item, outputs) for item in cast("list[Any]", value)]
    return value


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in cast("dict[object, object]", value).items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in cast("list[object]", value):
            yield from _texts(item)


def _command(found: re.Match[str]) -> str:
    return bytes.fromhex(found[1]).decode()
