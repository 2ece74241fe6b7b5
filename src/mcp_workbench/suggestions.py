"""Help for a name that was not found: the one that was probably meant, or all of them."""

from collections.abc import Sequence
from difflib import get_close_matches

_MOST_SHOWN = 20
_SHORT = 5
_SHORTEST_PART = 3


def closest(name: str, known: Sequence[str], kind: str) -> str:
    """The sentence to put after "'name' not found"."""
    if not known:
        return f". There is no {kind}."
    if meant := _probably_meant(name, known):
        return f". Did you mean '{meant}'?"
    shown = ", ".join(f"'{each}'" for each in known[:_MOST_SHOWN])
    more = len(known) - _MOST_SHOWN
    return f". Available: {shown}{f' and {more} more' if more > 0 else ''}."


def _probably_meant(name: str, known: Sequence[str]) -> str | None:
    """A wrong guess misleads more than a list does, so only what is nearly the name, or the only one that has it."""
    folded = {each.casefold(): each for each in known}
    wanted = name.casefold()
    cutoff = 0.6 if len(wanted) <= _SHORT else 0.75  # two letters in the wrong order weigh more in a short name
    if close := get_close_matches(wanted, folded, n=1, cutoff=cutoff):
        return folded[close[0]]
    longer = [each for each in folded if wanted in each] if len(wanted) >= _SHORTEST_PART else []
    return folded[longer[0]] if len(longer) == 1 else None
