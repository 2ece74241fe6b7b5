"""Agent frameworks with the workbench: the cheap ones of `tests/compat/frameworks.py`, which tries them all."""

from pathlib import Path

import pytest

from compat.frameworks import FRAMEWORKS, outcome_of, write_configs
from compat.published import program


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("fastmcp_client.py", marks=pytest.mark.pypi),
        pytest.param("langchain_get_tools.py", marks=pytest.mark.pypi),
        pytest.param("ai_sdk.mjs", marks=pytest.mark.node),
    ],
)
def test_a_framework_connects_opens_a_toolbox_and_uses_a_tool(tmp_path: Path, script: str) -> None:
    (framework,) = (each for each in FRAMEWORKS if each.script == script)
    program("npm" if framework.is_npm else "uv")
    write_configs(tmp_path)
    assert outcome_of(framework, tmp_path / "cache", tmp_path).trouble == ""
