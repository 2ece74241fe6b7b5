"""Fixtures that every test may use."""

import itertools
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # without bytecode a program takes twice as long to start

# On a busy machine an example takes as long as it takes.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than there are processors, since most tests wait for processes; none to run a single file of tests."""
    files = {argument.partition("::")[0] for argument in config.args}
    workers = (os.cpu_count() or 1) + 2
    if not all(file.endswith(".py") for file in files):
        return workers
    return 0 if len(files) == 1 else min(len(files), workers)


_users = itertools.count()


@pytest.fixture(autouse=True)
def own_user_directories(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Let every test be a user of its own: what was accepted or listed in one test is unknown in the next.

    Where packages are downloaded the directories stay the user's, since npm and uv keep theirs there too.
    """
    if any(request.node.get_closest_marker(name) for name in ("node", "pypi")):
        return
    home = tmp_path_factory.getbasetemp() / f"user-{next(_users)}"
    for name in ("DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))


@pytest.fixture
def anyio_backend() -> str:
    """The workbench runs on asyncio; so do its tests."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def programs_hear_signals() -> None:
    """Where the tests run under nohup or in a script's background, do not let the programs they start inherit that."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)  # a handler does not survive exec


@pytest.fixture(scope="session", autouse=True)
def programs_keep_nothing_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the programs under test keep for their user lies where pytest's files lie, not in the developer's home."""
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = str(tmp_path_factory.mktemp(name.lower()))
