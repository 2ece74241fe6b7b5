"""Whom a message concerns: its id, and whether it asks or answers, found even in a line that cannot be parsed.

Whoever waits for a response must learn that it came and could not be read. Servers write the id first (Python) or last
(TypeScript), so both ends of a line are looked at, and never more of it than that.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LOOKED_AT = 64 * 1024
"""Bytes at the beginning of a line in which its id is looked for."""

_LAST_MEMBERS = 512
"""Bytes at the end of a line in which its id is looked for."""

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_ID = rb"-?[0-9]{1,18}|" + _STRING

_TOKEN = rb"(?P<string>" + _STRING + rb')(?P<colon>\s*:\s*)?|(?P<open>[{\[])|(?P<close>[}\]])|(?P<cut>")'
_ID_MEMBER = rb'"id"\s*:\s*(' + _ID + rb")"
_VERSION_MEMBER = rb'"jsonrpc"\s*:\s*"2\.0"'
_ENDING = rb",\s*(?:%b\s*,\s*%b|%b\s*,\s*%b)\s*}\s*\Z" % (_VERSION_MEMBER, _ID_MEMBER, _ID_MEMBER, _VERSION_MEMBER)

RequestId = int | str


@dataclass(frozen=True)
class Addresses:
    """The ids in one line. What could be a request as well as a response counts as both."""

    responses: tuple[RequestId, ...] = ()
    requests: tuple[RequestId, ...] = ()

    def __add__(self, other: "Addresses") -> "Addresses":
        return Addresses(self.responses + other.responses, self.requests + other.requests)

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> "Addresses":
        """The id of a message, or of what is known of one."""
        request_id = message.get("id")
        if not isinstance(request_id, RequestId) or isinstance(request_id, bool):
            return cls()
        responds, asks = "result" in message or "error" in message, "method" in message
        return cls(() if asks else (request_id,), () if responds and not asks else (request_id,))


NOBODY = Addresses()


def find_addresses(line: bytes) -> Addresses:
    """The id in a line that cannot be parsed; none if it is not found."""
    members = _first_members(line)
    if "id" not in members and (ending := re.search(_ENDING, line[-_LAST_MEMBERS:], re.DOTALL)):
        members["id"] = _as_id(ending[1] or ending[2])
    return Addresses.of(members)


def _first_members(line: bytes) -> dict[str, Any]:
    """The keys of the message that the beginning of the line shows, with the value of `id`."""
    beginning = line[:_LOOKED_AT]
    members: dict[str, Any] = {}
    depth = 0
    own_depth = 2 if beginning.lstrip().startswith(b"[") else 1  # in a batch, the messages are a level deeper
    for token in re.finditer(_TOKEN, beginning, re.DOTALL):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth -= 1
        elif token["cut"]:
            break  # what follows is inside a string
        elif token["colon"] and depth == own_depth:
            key = token["string"][1:-1].decode(errors="replace")
            value = re.match(rb"(%b)\s*[,}]" % _ID, beginning[token.end() :], re.DOTALL) if key == "id" else None
            members[key] = _as_id(value[1]) if value else None
            if "id" in members and members.keys() & {"method", "result", "error"}:
                break
    return members


def _as_id(text: bytes) -> RequestId | None:
    try:
        return json.loads(text)
    except ValueError:
        return None
