"""Fixtures that every test may use."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The workbench runs on asyncio; so do its tests."""
    return "asyncio"
