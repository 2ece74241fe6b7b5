"""JSON-RPC lines: bytes on a pipe to Python values and back, with nothing lost on the way.

The standard library's json is used on purpose: it carries lone surrogates, which JavaScript servers produce when they
cut a text inside an emoji and which stricter parsers refuse, and it keeps every number, key and key order. It also
reads `NaN` and `Infinity`, which Python servers write, so that the response around them is not lost.
"""

import json
import math
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mcp_workbench.jsonrpc.envelope import NOBODY, Addresses, find_addresses
from mcp_workbench.jsonrpc.errors import INVALID_REQUEST, PARSE_ERROR

JSONObject = dict[str, Any]

MAX_DEPTH = 200
"""Levels of objects and arrays in one message. Whatever handles it later may recurse a few times for every level
(Python allows 1,000 calls within one another, pydantic 255) and wrap it in a few levels of its own."""

_CONTAINERS = frozenset({dict, list})

_LONG_INTEGER = os.urandom(16).hex()
"""Stands before the digits of a long integer until they can be put into the text without quotes."""

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Unreadable(ValueError):
    """A line that is not one JSON-RPC message; `str()` says why, as the end of a sentence about the line."""

    def __init__(self, reason: str, addresses: Addresses = NOBODY, *, code: int = PARSE_ERROR) -> None:
        super().__init__(reason)
        self.responses = addresses.responses
        """The ids of the requests that it would have answered."""
        self.requests = addresses.requests
        """The ids of the requests that it would have made."""
        self._code = code

    def refusal(self, request_id: int | str | None) -> JSONObject:
        """The error response for one of the requests in the line, or for the line as a whole."""
        return {"jsonrpc": "2.0", "id": request_id, "error": {"code": self._code, "message": f"Unreadable: {self}"}}


@dataclass(frozen=True)
class LongInteger:
    """An integer with more digits than Python converts (4,300), kept as it is written."""

    digits: str


def compact(value: Any) -> str:
    """The shortest JSON text of a value; characters outside ASCII stay themselves."""
    try:
        return _dumps(value)
    except (ValueError, TypeError):
        text = _dumps_any(_representable(value))
        return re.sub(f'"{_LONG_INTEGER}(-?[0-9]+)"', r"\1", text)


def encode(message: Mapping[str, Any]) -> bytes:
    """One message as one line."""
    # UTF-8 has no form for a lone surrogate; the escape that stands for it instead is JSON's own.
    return compact(message).encode(errors="backslashreplace") + b"\n"


def decode(line: bytes) -> JSONObject:
    """One line as one message: an object that has a `method`, or is a response.

    Raises:
        Unreadable: The line is anything else, or is nested more than MAX_DEPTH levels deep.
    """
    try:
        value: object = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        value = _decode_odd_line(line, error)
    if not isinstance(value, dict):
        raise _not_an_object(value)
    message = cast(JSONObject, value)
    if not ("method" in message or "result" in message or "error" in message or {"jsonrpc", "id"} <= message.keys()):
        raise Unreadable("it is not a JSON-RPC message", code=INVALID_REQUEST)
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and is_too_deep(message):
        raise _too_deep(Addresses.of(message))
    return message


def _decode_odd_line(line: bytes, error: ValueError | RecursionError) -> object:
    """What json.loads refuses at first; raises `Unreadable` if it cannot be read at all."""
    if line.startswith(BOM_UTF8):
        return decode(line.removeprefix(BOM_UTF8))
    if isinstance(error, RecursionError):
        raise _too_deep(find_addresses(line)) from None
    if isinstance(error, UnicodeDecodeError):
        raise Unreadable(f"it is not valid UTF-8 (byte {error.start})", find_addresses(line)) from None
    if isinstance(error, json.JSONDecodeError):
        raise Unreadable(f"it is not valid JSON ({error.msg}, character {error.pos})", find_addresses(line)) from None
    try:
        return json.loads(line, parse_int=_integer)
    except RecursionError:
        raise _too_deep(find_addresses(line)) from None


def _integer(digits: str) -> int | LongInteger:
    try:
        return int(digits)
    except ValueError:
        return LongInteger(digits)


def _not_an_object(value: object) -> Unreadable:
    if not isinstance(value, list):
        return Unreadable("it is not a JSON object", code=INVALID_REQUEST)
    batch = [Addresses.of(cast(JSONObject, item)) for item in cast(list[object], value) if isinstance(item, dict)]
    return Unreadable("it is a batch; send each message on a line of its own", sum(batch, NOBODY), code=INVALID_REQUEST)


def _too_deep(addresses: Addresses) -> Unreadable:
    return Unreadable(f"it is nested more than {MAX_DEPTH} levels deep", addresses, code=INVALID_REQUEST)


def is_too_deep(message: JSONObject) -> bool:
    """Whether containers stand in one another deeper than allowed; level by level, without recursion."""
    level: list[JSONObject | list[Any]] = [message]
    for _ in range(MAX_DEPTH):
        items = (item for container in level for item in _items(container))
        level = [item for item in items if type(item) in _CONTAINERS]
        if not level:
            return False
    return True


def _items(container: JSONObject | list[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _representable(value: Any) -> Any:
    """The value with null for every number that JSON cannot hold, as JavaScript writes them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _representable(item) for key, item in cast(Mapping[str, Any], value).items()}
    return [_representable(item) for item in cast(list[Any], value)] if isinstance(value, list) else value


def _placeholder(value: object) -> str:
    if isinstance(value, LongInteger):
        return f"{_LONG_INTEGER}{value.digits}"
    raise TypeError(f"{type(value).__name__} has no JSON form")


_dumps_any = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_placeholder).encode
