"""Where the user's own files go."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_workbench.directories import cache_dir, config_dir, data_dir, state_dir

ALL = {
    "XDG_CONFIG_HOME": (config_dir, ".config"),
    "XDG_DATA_HOME": (data_dir, ".local/share"),
    "XDG_STATE_HOME": (state_dir, ".local/state"),
    "XDG_CACHE_HOME": (cache_dir, ".cache"),
}


@pytest.mark.parametrize(("variable", "function"), [(name, function) for name, (function, _) in ALL.items()])
def test_the_xdg_variable_decides_where_it_is_set(
    variable: str, function: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    assert function() == tmp_path / "mcp-workbench"


@pytest.mark.skipif(sys.platform != "linux", reason="each platform has its own places")
@pytest.mark.parametrize("value", ["", "relative/place"])
def test_otherwise_the_platforms_own_place_is_used(value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable, (function, expected) in ALL.items():
        monkeypatch.setenv(variable, value)
        assert function() == tmp_path / expected / "mcp-workbench"
