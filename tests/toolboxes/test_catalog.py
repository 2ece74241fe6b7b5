"""The catalog: tool lists on disk, for their user alone, shared by workbenches, and never in the way."""

import logging
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_workbench.config.models import RemoteServer, StdioServer
from mcp_workbench.redaction import Redactor
from mcp_workbench.toolboxes import catalog as module
from mcp_workbench.toolboxes.catalog import Catalog

NOTHING_SECRET = Redactor(())
TOOLS: list[dict[str, Any]] = [
    {"name": "read", "description": "Reads", "inputSchema": {"type": "object", "x-extra": [1.5, None, "ü"]}},
    {"name": "write", "annotations": {"readOnlyHint": False}},
]


def names(catalog: Catalog, identity: str) -> list[str] | None:
    tools = catalog.read(identity)
    return None if tools is None else tools.names


def test_what_one_workbench_lists_another_reads_as_it_was(tmp_path: Path) -> None:
    Catalog(tmp_path).write("server", [{**tool, "icons": ["large"]} for tool in TOOLS], NOTHING_SECRET)
    tools = Catalog(tmp_path).read("server")
    assert tools is not None
    assert tools.raw == TOOLS
    assert list(tools.raw[0]["inputSchema"]) == ["type", "x-extra"]


def test_a_list_is_parsed_again_only_when_its_file_was_replaced(tmp_path: Path) -> None:
    reader, writer = Catalog(tmp_path), Catalog(tmp_path)
    writer.write("server", TOOLS, NOTHING_SECRET)
    first = reader.read("server")
    writer.write("server", TOOLS, NOTHING_SECRET)  # the same again, so nothing is written
    assert reader.read("server") is first
    writer.write("server", TOOLS[:1], NOTHING_SECRET)
    assert names(reader, "server") == ["read"]


def test_a_server_never_seen_is_unknown_and_makes_no_directory(tmp_path: Path) -> None:
    assert Catalog(tmp_path / "catalog").read("server") is None
    assert not (tmp_path / "catalog").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX's modes")
def test_files_are_for_their_user_alone(tmp_path: Path) -> None:
    Catalog(tmp_path / "catalog").write("server", TOOLS, NOTHING_SECRET)
    (file,) = (tmp_path / "catalog").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b'{"version":2,"tools":[]}', b'{"version":1}', b'{"version":1,"tools":{}}',
        b'{"version":1,"tools":[1]}', b'{"version":1,"tools":[{"name":1}]}', b"\xff\xfe", b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_damaged_file_is_thrown_away_with_a_note(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Catalog(tmp_path).write("server", TOOLS, NOTHING_SECRET)
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert Catalog(tmp_path).read("server") is None
    assert "is damaged and was thrown away" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_another_command_other_arguments_or_another_address_is_another_server(tmp_path: Path) -> None:
    entries = [
        StdioServer(command="one"),
        StdioServer(command="two"),
        StdioServer(command="one", args=("--flag",)),
        RemoteServer.model_validate({"url": "https://example.com/one"}),
        RemoteServer.model_validate({"url": "https://example.com/two"}),
    ]
    catalog = Catalog(tmp_path)
    for number, entry in enumerate(entries):
        catalog.write(entry.identity(), [{"name": f"tool{number}"}], NOTHING_SECRET)
    assert [names(catalog, entry.identity()) for entry in entries] == [[f"tool{number}"] for number in range(5)]


def test_no_secret_is_written(tmp_path: Path) -> None:
    tools = [{"name": "ask", "description": "Uses hunter2-token", "inputSchema": {"default": ["hunter2-token", 4]}}]
    Catalog(tmp_path).write("server", tools, Redactor({"hunter2-token"}))
    (file,) = tmp_path.iterdir()
    assert "hunter2" not in file.read_text()
    assert names(Catalog(tmp_path), "server") == ["ask"]


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    Catalog(tmp_path).write("server", [{"name": "cut", "description": "half \ud83d"}], NOTHING_SECRET)
    tools = Catalog(tmp_path).read("server")
    assert tools is not None
    assert tools.raw[0]["description"] == "half \ud83d"


def test_a_giant_is_not_kept_and_replaces_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "LARGEST", 1000)
    catalog = Catalog(tmp_path)
    catalog.write("server", TOOLS, NOTHING_SECRET)
    with caplog.at_level(logging.WARNING):
        catalog.write("server", [{"name": "big", "description": "x" * 1000}], NOTHING_SECRET)
    assert "too many for the catalog" in caplog.text
    assert catalog.read("server") is None


def test_a_disk_that_cannot_be_written_costs_a_note(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        Catalog(tmp_path / "file" / "catalog").write("server", TOOLS, NOTHING_SECRET)
    assert "cannot be written" in caplog.text


def test_the_oldest_are_forgotten_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    for number in range(5):
        Catalog(tmp_path).write(f"server {number}", TOOLS, NOTHING_SECRET)
        newest = max(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        os.utime(newest, (number, number))
    Catalog(tmp_path).write("server 5", TOOLS, NOTHING_SECRET)
    assert [names(Catalog(tmp_path), f"server {number}") is not None for number in range(6)] == [False] * 3 + [True] * 3
