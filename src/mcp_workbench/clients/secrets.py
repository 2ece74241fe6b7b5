"""Which texts of a server's entry are secrets: by the name they go under, and by what they look like.

A name that says secret is believed unless the value is plainly a setting; without such a name only a known prefix, a
password in a URL or a long random run of characters counts. Missing a secret leaves it where it was before; taking a
setting for one costs the user a variable. So names decide generously, shapes with care.
"""

import math
import re
from collections import Counter

_SECRET_WORD = re.compile(
    r"APIKEY|AUTH|AUTHORIZATION|BEARER|COOKIE|CREDENTIALS?|CREDS?|DSN|JWT|KEYS?|MNEMONIC|PASSCODE|PASSPHRASE|PASSWD"
    r"|PASSWORD|SECRETS?|SIGNATURE|TOKEN"
)
# These mean a secret only at the end of a name: DB_PASS, but not PASS_THROUGH.
_SECRET_ENDING = re.compile(r"(?:.*_)?(?:PASS|PWD|PAT)|.*(?:APIKEY|TOKEN|SECRET|PASSWORD)")
_SECRET_PHRASE = re.compile(r"CONNECTION_?STRING|CONN_?STR")
# What follows the secret word says that the value only describes it: TOKEN_LIMIT, AUTH_TYPE, KEY_FILE.
_SETTING_WORD = re.compile(
    r"ALGORITHM|COUNT|DIR|DIRECTORY|ENABLED|EXPIRY|FILE|HEADER|HOST|ID|LENGTH|LIMIT|METHOD|MODE|NAME|PATH|PORT|PREFIX"
    r"|PROVIDER|REGION|SCOPES?|TIMEOUT|TTL|TYPE|USER|USERNAME"
)
_ADDRESS_WORD = re.compile(r"ENDPOINT|URI|URL")
_SETTING_VALUE = re.compile(r"(?i)true|false|yes|no|on|off|none|null|auto|default|https?://[^@?\s]*")
_PATH = re.compile(r"(?:~|\.{1,2})?/|[A-Za-z]:[\\/]")
_PINNED = re.compile(r"(?:[@#]|sha256:)[0-9a-f]{7,64}$")
_KNOWN_PREFIXES = re.compile(
    r"(?:gh[pousr]_|github_pat_|glpat-|sk-|[srp]k_(?:live|test)_|xox[abeprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|pypi-"
    r"|hf_|SG\.|shp(?:at|ss|ca)_|dop_v1_|ATATT|figd_|lin_api_|ntn_|secret_|tvly-|sntrys_|pplx-|gsk_|r8_|dckr_pat_"
    r"|glsa_|xai-|fc-|rnd_|sbp_|whsec_|EAAC)[A-Za-z0-9+/=_.-]{8,}"
    r"|[0-9]{8,10}:[A-Za-z0-9_-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY|(?i:bearer|basic) [A-Za-z0-9+/=_.-]{8,}"
)
# A password may hold anything, an @ or a slash too; a port with a path behind it is none.
_URL_PASSWORD = re.compile(r"(?i)^[a-z][a-z0-9+.-]*://[^/?#\s:@]*:(?P<password>\S+)@(?=[\w.-]|\[)[^@\s]*$")
_PORT_AND_PATH = re.compile(r"\d{1,5}/.*", re.DOTALL)
_WITH_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|apikey|bot) +\S{6,}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RUN = re.compile(r"[A-Za-z0-9+=]{20,}")
_LONG_WORD = re.compile(r"(?=.*[0-9A-Z])(?=.*[A-Za-z])[A-Za-z0-9_.-]{16,}")
_WORD = re.compile(r"[a-z]*[0-9]{0,4}|[A-Z]?[a-z]+[0-9]{0,4}|[A-Z]+[0-9]{0,4}|v?[0-9]+|[0-9]+[a-z]{0,2}")
_RANDOM_BITS = 3.2


def is_secret(name: str, value: str) -> bool:
    """Tell whether the value that goes under this name should not stand in a config file."""
    words = _words(name)
    if not value or not words:
        return looks_secret(value)
    if _has_secret_form(value):
        return True
    if _SETTING_WORD.fullmatch(words[-1]):
        return False
    return _is_random(value) or (_is_secret_name(words) and not _is_setting(words, value))


def is_setting(name: str, value: str) -> bool:
    """Tell whether a value is plainly a setting, whatever it goes under: a number, yes or no, a path."""
    return _is_setting(_words(name) or [""], value)


def looks_secret(value: str) -> bool:
    """Tell whether a value is a secret whatever its name."""
    return _has_secret_form(value) or _is_random(value)


def names_secret(name: str) -> bool:
    """Tell whether what goes under this name is a secret, unless its value is plainly a setting."""
    words = _words(name)
    return bool(words) and not _SETTING_WORD.fullmatch(words[-1]) and _is_secret_name(words)


def looks_random(text: str) -> bool:
    """Tell whether a word was made by a machine, to be hard to guess: letters and digits without any sense."""
    if any(_is_mixed(run) and _entropy(run) >= _RANDOM_BITS for run in _RUN.findall(text)):
        return True
    run = text.strip("=")
    if not _LONG_WORD.fullmatch(run) or all(_WORD.fullmatch(word) for word in re.split("[-_.]", run)):
        return False
    return _entropy(run) >= _RANDOM_BITS


def url_password(value: str) -> tuple[int, int] | None:
    """Return where the password of a URL stands in it, or None."""
    match = _URL_PASSWORD.match(value)
    if match is None or "${" in match["password"] or _PORT_AND_PATH.fullmatch(match["password"]):
        return None
    return match.span("password")


def _has_secret_form(value: str) -> bool:
    known = _KNOWN_PREFIXES.match(value) or _WITH_SCHEME.fullmatch(value)
    return bool(known and "${" not in value) or url_password(value) is not None


def _is_secret_name(words: list[str]) -> bool:
    joined = "_".join(words)
    if "PUBLIC" in words or joined == "PWD" or _ADDRESS_WORD.fullmatch(words[-1]):
        return False
    return (
        any(_SECRET_WORD.fullmatch(word) for word in words)
        or bool(_SECRET_ENDING.fullmatch(joined))
        or bool(_SECRET_PHRASE.search(joined))
    )


def _is_setting(words: list[str], value: str) -> bool:
    """A KEY or TOKEN of digits is a number; a password may well consist of them."""
    number = value.isdigit() and not words[-1].startswith(("PASS", "PWD"))
    return number or bool(_SETTING_VALUE.fullmatch(value)) or bool(_PATH.match(value))


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[^A-Z0-9]+", spaced.upper()) if word]


def _is_random(value: str) -> bool:
    if _UUID.fullmatch(value) or _PATH.match(value) or _PINNED.search(value) or value.startswith("@") or " " in value:
        return False
    return any(_is_mixed(run) and _entropy(run) >= _RANDOM_BITS for run in _RUN.findall(value))


def _is_mixed(run: str) -> bool:
    return bool(re.search("[0-9]", run)) and bool(re.search("[A-Za-z]", run))


def _entropy(text: str) -> float:
    """Bits per character, by how often each occurs."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
