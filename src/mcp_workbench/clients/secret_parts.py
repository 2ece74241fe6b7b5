"""The secrets inside a longer text: an address, a connection string, a header, a command line.

`secrets` judges a whole value; here it is found out which part of a value has to go, so that the rest can stay
readable. Parts never overlap, and none lies inside a `${…}`.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

from mcp_workbench.clients.secrets import is_secret, looks_random, looks_secret, names_secret, url_password
from mcp_workbench.config.document import Json


@dataclass(frozen=True, order=True)
class Part:
    """A piece of a text that is secret, and what it is called there (nothing, if it has no name)."""

    start: int
    end: int
    name: str = ""


_LONGEST = 20_000
"""Characters: nobody writes a longer argument by hand, and to search one takes too long."""
_REFERENCE = re.compile(r"\$?\$\{[^}]*\}")
_BEFORE_JSON = re.compile(r"(?:(?P<name>-{0,2}[\w-]+)=)?\s*(?=[{\[])")
_URL = re.compile(r"(?i)\b[a-z][a-z0-9+.-]*://[^\s'\"<>|]+")
_USER = re.compile(r"(?i)^[a-z][a-z0-9+.-]*://(?P<user>[^/?#\s:@]{16,})@")
_PARAMETER = re.compile(r"[?&#](?P<name>[^=&#\s]+)=(?P<value>[^&#\s]+)")
_SIGNED = re.compile(r"(?i)sig|signature|code|k|api|pw|p|auth")
_SEGMENT = re.compile(r"(?<=/)[^/?#]+")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_ASSIGNED = re.compile(
    r"(?P<name>(?<![\w$%-])-{0,2}[A-Za-z_][\w.-]*(?: [A-Z][a-z]+)?)\s*=\s*"
    r"(?P<quote>[\"']?)(?P<value>[^;,&\s\"']+)(?P=quote)"
)
_OPTION = re.compile(r"(?<![\w-])(?P<name>--?[A-Za-z][\w-]*)\s+[\"']?(?P<value>[^\s\"'-][^\s\"']*)")
_HEADER = re.compile(
    r"(?P<name>\b[A-Za-z][A-Za-z0-9-]*)\s*:\s*(?:(?:Bearer|Basic|Token|ApiKey|Bot|Digest)\s+)?(?P<value>[^\s\"',;]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<value>[A-Za-z0-9+/=_.~-]{6,})")
_BOT_TOKEN = re.compile(r"\b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b")
_WORD = re.compile(r"[^\s\"'=,;:]+")


def secret_parts(text: str) -> list[Part]:
    """Return the secret pieces of a text, in order."""
    if len(text) > _LONGEST:
        return [Part(0, len(text))]
    references = [mark.span() for mark in _REFERENCE.finditer(text)]
    chosen: list[Part] = []
    for find in _FINDERS:
        for part in find(text):
            if not any(_overlap(part, span) for span in (*references, *((each.start, each.end) for each in chosen))):
                chosen.append(part)
    return sorted(chosen)


def holds_secret(name: str, value: str) -> bool:
    """Whether a value that goes under a name is a secret, or has one inside."""
    return is_secret(name, value) or bool(secret_parts(value))


def _overlap(part: Part, span: tuple[int, int]) -> bool:
    return part.start < span[1] and span[0] < part.end


def _json(text: str) -> Iterator[Part]:
    """JSON is hidden as a whole: to read it in pieces helps nobody."""
    begin = _BEFORE_JSON.match(text)
    if begin is None:
        return
    try:
        value = cast("Json", json.loads(text[begin.end() :]))
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict | list) and _in_json("", value):
        yield Part(begin.end(), len(text), begin["name"] or "json")


def _in_json(name: str, value: Json) -> bool:
    if isinstance(value, dict):
        return any(_in_json(key, item) for key, item in value.items())
    if isinstance(value, list):
        return any(_in_json(name, item) for item in value)
    return isinstance(value, str) and holds_secret(name, value)


def _urls(text: str) -> Iterator[Part]:
    for match in _URL.finditer(text):
        for part in _in_url(match.group()):
            yield Part(match.start() + part.start, match.start() + part.end, part.name)


def _in_url(url: str) -> Iterator[Part]:
    if password := url_password(url):
        yield Part(*password, "password")
    elif (user := _USER.match(url)) and (looks_secret(user["user"]) or looks_random(user["user"])):
        yield Part(*user.span("user"), "user")
    for match in _PARAMETER.finditer(url):
        if _is_secret_parameter(match["name"], match["value"]):
            yield Part(*match.span("value"), unquote(match["name"]))
    path_end = min((at for mark in "?#" if (at := url.find(mark)) >= 0), default=len(url))
    for match in _SEGMENT.finditer(url, url.find("://") + 3, path_end):
        if _UUID.fullmatch(match.group()) or looks_random(match.group()):
            yield Part(*match.span(), "path")


def _is_secret_parameter(name: str, value: str) -> bool:
    return is_secret(unquote(name), unquote(value)) or bool(_SIGNED.fullmatch(name) and len(value) > 7)


def _assignments(text: str) -> Iterator[Part]:
    """`Password=x;`, `password=x host=y`, `KEY=x command`, `?key=x` in something that is no address."""
    at = 0
    while match := _ASSIGNED.search(text, at):
        at = match.end()
        # In a connection string it is a password; as a variable it is the directory.
        name = "password" if match["name"].lower() == "pwd" and ";" in text else match["name"].rpartition(" ")[2]
        if is_secret(name, match["value"]):
            yield Part(*match.span("value"), match["name"])
        else:  # `--env=NAME=value` says two things
            at = match.start("value")


def _options(text: str) -> Iterator[Part]:
    """The options of a command line that stands in one text, for a shell."""
    for match in _OPTION.finditer(text):
        if match["name"].startswith("--") and names_secret(match["name"]) and is_secret(match["name"], match["value"]):
            yield Part(*match.span("value"), match["name"])


def _headers(text: str) -> Iterator[Part]:
    for match in _HEADER.finditer(text):
        name, value = match["name"], match["value"]
        if not value.startswith("//") and names_secret(name) and is_secret(name, value):
            yield Part(*match.span("value"), name)


def _schemes(text: str) -> Iterator[Part]:
    for match in _SCHEME.finditer(text):
        yield Part(*match.span("value"), "authorization")


def _bot_tokens(text: str) -> Iterator[Part]:
    for match in _BOT_TOKEN.finditer(text):
        yield Part(*match.span())


def _words(text: str) -> Iterator[Part]:
    """What is a secret wherever it stands, by its look."""
    for match in _WORD.finditer(text):
        if looks_secret(match.group()):
            yield Part(*match.span())


_FINDERS: tuple[Callable[[str], Iterator[Part]], ...] = (
    _json,
    _bot_tokens,
    _urls,
    _schemes,
    _headers,
    _assignments,
    _options,
    _words,
)
