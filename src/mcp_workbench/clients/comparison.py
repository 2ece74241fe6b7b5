"""Whether a server that a client has is one that the config has: the same program, started in the same way."""

import re
from collections.abc import Mapping, Sequence

from mcp_workbench.clients.variables import escaped
from mcp_workbench.config.document import Json

_SLOT = re.compile("\0([0-9]+)\0")
_REFERENCE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)(?::-.*)?\}", re.DOTALL)


def slot_text(number: int) -> str:
    """Return what stands for a secret in an entry to compare."""
    return f"\0{number}\0"


class Comparison:
    """Compares an entry whose secrets are numbered slots with one of the config."""

    def __init__(self, secrets: Sequence[str], environ: Mapping[str, str], *, lenient: bool) -> None:
        self._secrets = secrets
        self._environ = environ
        self._lenient = lenient

    def same(self, template: Json, written: Json) -> bool:
        """Tell whether both say the same; `lenient` takes a reference whose value is not known for any secret."""
        if isinstance(template, dict) and isinstance(written, dict):
            return template.keys() == written.keys() and all(self.same(template[key], written[key]) for key in template)
        if isinstance(template, list) and isinstance(written, list):
            return len(template) == len(written) and all(map(self.same, template, written))
        if isinstance(template, str) and isinstance(written, str):
            return self._same_text(template, written)
        return template == written

    def _same_text(self, template: str, written: str) -> bool:
        pieces = _SLOT.split(template)
        pattern = "(.+)".join(re.escape(piece) for piece in pieces[::2])
        match = re.fullmatch(pattern, written, re.DOTALL)
        if match is None:
            return False
        slots = [self._secrets[int(number)] for number in pieces[1::2]]
        return all(map(self._same_secret, slots, match.groups()))

    def _same_secret(self, secret: str, written: str) -> bool:
        reference = _REFERENCE.fullmatch(written)
        if reference is None:
            return written == escaped(secret)
        known = self._environ.get(reference[1])
        return known == secret if known is not None else self._lenient


def launch(entry: dict[str, Json], other: dict[str, Json]) -> dict[str, Json]:
    """What starts the server, or where it is; a directory counts only when both say one."""
    if "url" in entry:
        return {"url": entry["url"], "headers": entry.get("headers") or {}}
    launch: dict[str, Json] = {"command": entry.get("command"), "args": entry.get("args") or []}
    launch["env"] = entry.get("env") or {}
    if "cwd" in entry and "cwd" in other:
        launch["cwd"] = entry["cwd"]
    return launch
