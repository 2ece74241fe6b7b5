"""Keeping secrets out of everything that the workbench writes."""

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

_MASK = "***"
_SHORTEST = 4
# Values of many a variable that nobody could want hidden, and parts of every JSON text.
_WORDS = frozenset({"true", "false", "null", "none"})


class Redactor:
    """Replaces secrets in text, in the spellings that logs, JSON and addresses give them.

    What is shorter than four characters is not worth hiding and would blank ordinary text.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings = {spelling for secret in secrets for part in _parts(secret) for spelling in _spellings(part)}
        # Longest first: an alternation takes the first that fits, and a secret may begin with another one.
        ordered = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        """`text` without the secrets."""
        return self._pattern.sub(_MASK, text) if self._pattern else text

    def beginning(self, text: str, length: int) -> str:
        """The beginning of `text` without the secrets, cut only then: half a secret could not be recognised."""
        return self(text[: 10 * length])[:length]


def _parts(secret: str) -> Iterator[str]:
    """The secret, and each of its lines, since logs are read and quoted by the line."""
    for part in (secret, *(line.strip() for line in secret.splitlines())):
        if len(part) >= _SHORTEST and not part.isspace() and part.lower() not in _WORDS:
            yield part


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    for escaped in (json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret), ascii(secret)):
        yield escaped[1:-1]
    yield json.dumps(secret)[1:-1].replace("/", "\\/")
    for encoded in (quote(secret, errors="surrogatepass"), quote(secret, safe="", errors="surrogatepass")):
        yield encoded
        yield re.sub("%..", lambda code: code[0].lower(), encoded)
    yield quote_plus(secret, errors="surrogatepass")
