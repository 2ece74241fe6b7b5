"""The signals that ask the program to leave, and its servers with it."""

import signal
import sys


def ending_signals() -> tuple[signal.Signals, ...]:
    """What asks us to leave: a closed terminal too, unless whoever started us ignores that, as nohup does."""
    if sys.platform == "win32":  # which has none that an event loop could wait for
        return ()
    asked = (signal.SIGINT, signal.SIGTERM)
    return asked if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (*asked, signal.SIGHUP)
