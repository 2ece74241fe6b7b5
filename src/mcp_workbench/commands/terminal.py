"""What the commands write to: a console that is plain wherever it is not a terminal."""

from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Return a console on stdout: colours on a terminal only, never with NO_COLOR, long paths left whole."""
    return Console(stderr=stderr, highlight=False, soft_wrap=True, emoji=False)
