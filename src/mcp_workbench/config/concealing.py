"""What of a command line or an address may be shown: everything but what is a secret by its name or its looks.

This is for texts that people typed into a config as they are. Values of variables are known to be secrets and are kept
out by other means; here a secret has to be recognised, so a name that says so and a long random run both count.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import SplitResult, urlsplit

MASK = "***"

_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|\bpass\b|auth|credential|bearer|cookie|\bpat\b|\bpwd\b|\bdsn\b")
_NAMED = re.compile(r"(?P<name>-{0,2}[\w.-]+)(?P<joint>=|:\s*)(?P<value>.+)", re.DOTALL)
_RANDOM = re.compile(r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*[0-9])(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{24,}")
"""A whole run: looked for at its beginning alone, or an argument of 50,000 letters would take minutes."""

_REFERENCE = re.compile(r"\$\{[^}]*\}")


def conceal_arguments(args: Sequence[str]) -> Iterator[str]:
    """Each argument, or as much of it as may be shown."""
    flag = ""
    for arg in args:
        yield MASK if _says_secret(flag) and not arg.startswith("-") and not _is_reference(arg) else _conceal(arg)
        flag = arg if arg.startswith("-") and "=" not in arg else ""


def conceal_url(url: str, *, keep_user: bool = False) -> str:
    """An address without user, password, values of its query, and the parts of its path that look random."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    path = "/".join(MASK if _looks_random(part) else part for part in parts.path.split("/"))
    query = "&".join(map(_conceal_parameter, parts.query.split("&"))) if parts.query else ""
    userinfo, at, host = parts.netloc.rpartition("@")
    user = f"{userinfo.partition(':')[0]}:{MASK}@" if at and keep_user else ""
    return SplitResult(parts.scheme, user + host, path, query, "").geturl()


def _conceal(arg: str) -> str:
    if "://" in arg:
        before, scheme, rest = arg.partition("://")
        start = re.search(r"[A-Za-z][A-Za-z0-9+.-]*$", before)
        at = start.start() if start else len(before)
        return before[:at] + conceal_url(before[at:] + scheme + rest, keep_user=True)
    named = _NAMED.fullmatch(arg)
    if named and _says_secret(named["name"]) and not _is_reference(named["value"]):
        return f"{named['name']}{named['joint']}{MASK}"
    return _RANDOM.sub(MASK, arg) if _looks_random(arg) else arg


def _conceal_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    return parameter if not equals or _is_reference(value) else f"{name}={MASK}"


def _says_secret(name: str) -> bool:
    return bool(_SECRET_NAME.search(name.replace("_", " ").replace("-", " ")))


def _is_reference(text: str) -> bool:
    """Whether the text only names variables, so that it holds nothing itself."""
    return bool(_REFERENCE.fullmatch(text)) and ":-" not in text


def _looks_random(text: str) -> bool:
    return any(not _is_words(run[0]) for run in _RANDOM.finditer(_REFERENCE.sub("", text)))


def _is_words(run: str) -> bool:
    """Whether a long run is made of words, as names of packages and files are: `server-filesystem-v2-example`."""
    return all(re.fullmatch(r"[a-z]*[0-9]{0,4}|[A-Z][a-z]*[0-9]{0,4}", word) for word in re.split("[-_]", run))
