"""Programs whose only work is to connect to a remote server, as the remote servers that they connect to.

The workbench reaches remote servers itself, so the bridge and its Node process are not needed. A bridge with an option
that has no counterpart here stays what it is, a program to start.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import cast

from mcp_workbench.config.document import Json

_RUNNERS = frozenset({"npx", "bunx", "pnpm", "yarn", "npm", "bun", "cmd"})
_RUNNER_WORDS = frozenset({"-y", "--yes", "dlx", "exec", "x", "/c", "/C", "--", "-q", "--quiet", *_RUNNERS})
_BRIDGE = re.compile(r"mcp-remote(@.*)?")
# Options that concern the bridge alone, with the number of words that follow them.
_ITS_OWN = {"--debug": 0, "--silent": 0, "--enable-proxy": 0, "--host": 1, "--auth-timeout": 1}
_TRANSPORTS = {"http-only": "http", "sse-only": "sse", "http-first": None, "sse-first": None}
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NEEDED_BY_PROXY = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"})


class _NoCounterpart(Exception):
    """The bridge is told something that a remote entry cannot say."""


def native(content: dict[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Return the entry of a bridge as that of its server, with what to tell about it; any other entry as it is."""
    words = _words(content)
    if words is None:
        return content, []
    try:
        remote = _Bridge(words, _texts(content.get("env"))).entry()
    except _NoCounterpart as option:
        return content, [f"stays a bridge to a remote server, since {option} has no counterpart here"]
    kept = {key: value for key, value in content.items() if key not in {"command", "args", "env", "envFile", "cwd"}}
    filters = [*_list(kept.get("toolFilters")), *_list(remote.get("toolFilters"))]
    return {**remote, **kept, **({"toolFilters": filters} if filters else {})}, ["reached directly, without mcp-remote"]


def _words(content: dict[str, Json]) -> list[str] | None:
    """What follows `mcp-remote` on the command line, or None when something else is started."""
    args = content.get("args") or []
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        return None
    line = [str(content.get("command")), *cast("list[str]", args)]
    line[0] = PurePath(line[0].replace("\\", "/")).name.lower().removesuffix(".cmd").removesuffix(".exe")
    at = 0
    while at < len(line) and line[at] in _RUNNER_WORDS:
        at += 1
    return line[at + 1 :] if at < len(line) and _BRIDGE.fullmatch(line[at]) else None


@dataclass
class _Bridge:
    words: list[str]
    env: dict[str, str]
    headers: dict[str, Json] = field(default_factory=dict[str, Json])
    login: dict[str, Json] = field(default_factory=dict[str, Json])
    hidden: list[Json] = field(default_factory=list[Json])
    transport: str | None = None
    insecure: bool = False

    def entry(self) -> dict[str, Json]:
        own = self.env.keys() & _NEEDED_BY_PROXY
        if own:
            raise _NoCounterpart(f"its variable {min(own)}")
        address, *more = self._read_options()
        if more and more[0].isdigit():
            self.login["callbackPort"] = int(more[0])
        optional = {
            "transport": self.transport,
            "headers": self.headers,
            "oauth": self.login,
            "toolFilters": self.hidden,
            "allowInsecure": self.insecure,
        }
        return {"url": address, **{key: cast("Json", value) for key, value in optional.items() if value}}

    def _read_options(self) -> list[str]:
        words, plain = iter(self.words), list[str]()
        for word in words:
            if word.startswith("--"):
                self._option(word, words)
            else:
                plain.append(self._filled(word))
        if not plain or "://" not in plain[0]:
            raise _NoCounterpart("an address that is not given as one")
        return plain

    def _option(self, option: str, rest: Iterator[str]) -> None:
        if option == "--header":
            name, _, value = self._filled(next(rest, "")).partition(":")
            self.headers[name.strip()] = value.strip()
        elif option == "--transport":
            self.transport = _TRANSPORTS.get(next(rest, ""))
        elif option == "--allow-http":
            self.insecure = True
        elif option == "--ignore-tool":
            self.hidden.append(f"!{next(rest, '')}")
        elif option in {"--static-oauth-client-info", "--static-oauth-client-metadata"}:
            self._client(option, self._filled(next(rest, "")))
        elif option in _ITS_OWN:
            for _ in range(_ITS_OWN[option]):
                next(rest, None)
        else:
            raise _NoCounterpart(option)

    def _client(self, option: str, text: str) -> None:
        try:
            told = json.loads(text)
        except ValueError:
            raise _NoCounterpart(option) from None
        names = {"client_id": "clientId", "client_secret": "clientSecret", "scope": "scopes"}
        if not isinstance(told, dict):
            raise _NoCounterpart(option)
        answers = cast("dict[str, Json]", told)
        self.login |= {names[key]: value for key, value in answers.items() if key in names and value}

    def _filled(self, text: str) -> str:
        """The bridge fills in variables, and its entry sets some of them; the others are left for us to fill in."""
        return _REFERENCE.sub(lambda mark: self.env.get(mark[1], mark[0]), text)


def _texts(value: Json) -> dict[str, str]:
    return {key: item for key, item in value.items() if isinstance(item, str)} if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
