"""Only a person accepts a change: no sequence of sightings, restarts, edits and other workbenches does."""

import json
import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.redaction import Redactor
from mcp_workbench.toolboxes.background import Background
from mcp_workbench.toolboxes.sightings import Sightings, Verdict
from mcp_workbench.toolboxes.trust import Record, pins
from mcp_workbench.toolboxes.trust_records import TrustRecords

NOTHING_SECRET = Redactor(())
SERVER, PLACE = '["npx", "server"]', "config.json\ndev\nserver"


class AtOnce(Background):
    """Work that is done when it is given."""

    def do(self, work: Callable[[], object]) -> None:
        work()


def tool(name: str, description: str = "as accepted", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def workbench(
    directory: Path, identity: str = SERVER, place: str = PLACE, redact: Redactor = NOTHING_SECRET
) -> Sightings:
    return Sightings(lambda: identity, place, records=TrustRecords(directory), background=AtOnce(), redact=redact)


def accept(directory: Path, *names: str, identity: str = SERVER) -> None:
    """What `review --accept` does after it has shown what is waiting."""
    records = TrustRecords(directory)
    shown = records.read(identity) or Record()
    chosen = {name: pin for name, pin in shown.waiting.items() if name in names}
    records.change(identity, lambda found: (found or Record()).having_accepted(chosen))


def test_the_first_sight_is_accepted(tmp_path: Path) -> None:
    assert workbench(tmp_path).judge(ToolList([tool("a"), tool("b")])) == Verdict()
    assert workbench(tmp_path).judge(ToolList([tool("a"), tool("b")])) == Verdict()


@pytest.mark.parametrize(
    "changed",
    [
        tool("a", "something else"),
        tool("a") | {"inputSchema": {"type": "object", "required": ["x"]}},
        tool("a", annotations={"readOnlyHint": True}),
        tool("a") | {"inputSchema": None},
    ],
)
def test_a_change_of_what_a_tool_is_used_by_is_seen(changed: dict[str, Any], tmp_path: Path) -> None:
    workbench(tmp_path).judge(ToolList([tool("a"), tool("b")]))
    assert workbench(tmp_path).judge(ToolList([changed, tool("b")])) == Verdict(changed=("a",))


@pytest.mark.parametrize(
    "same",
    [
        tool("a", title="Another title", icons=[], outputSchema={"type": "object"}, _meta={"x": 1}),
        {"inputSchema": {"type": "object"}, "description": "as accepted", "name": "a"},
        tool("a", annotations=None),
    ],
)
def test_what_no_model_goes_by_is_no_change(same: dict[str, Any], tmp_path: Path) -> None:
    workbench(tmp_path).judge(ToolList([tool("a")]))
    assert workbench(tmp_path).judge(ToolList([same])) == Verdict()


def test_a_new_tool_waits_and_one_that_comes_back_changed_does_too(tmp_path: Path) -> None:
    sightings = workbench(tmp_path)
    sightings.judge(ToolList([tool("a"), tool("b")]))
    assert sightings.judge(ToolList([tool("a"), tool("c")])) == Verdict(new=("c",))
    assert sightings.judge(ToolList([tool("a")])) == Verdict()
    assert sightings.judge(ToolList([tool("a"), tool("b", "back, and other")])) == Verdict(changed=("b",))
    assert sightings.judge(ToolList([tool("a"), tool("b")])) == Verdict()


def test_only_what_was_shown_is_accepted(tmp_path: Path) -> None:
    records = TrustRecords(tmp_path)
    workbench(tmp_path).judge(ToolList([tool("a"), tool("b")]))
    workbench(tmp_path).judge(ToolList([tool("a", "2"), tool("b", "2")]))
    shown = (records.read(SERVER) or Record()).waiting
    workbench(tmp_path).judge(ToolList([tool("a", "3"), tool("b", "2")]))
    after = records.change(SERVER, lambda found: (found or Record()).having_accepted(shown))
    assert list(after.waiting) == ["a"]
    assert workbench(tmp_path).judge(ToolList([tool("a", "2"), tool("b", "2")])) == Verdict(changed=("a",))


ACCEPTING = """
import sys
from pathlib import Path
from mcp_workbench.toolboxes.trust import Record
from mcp_workbench.toolboxes.trust_records import TrustRecords
directory, identity, *names = sys.argv[1:]
records = TrustRecords(Path(directory))
waiting = records.read(identity).waiting
print("ready", flush=True)
sys.stdin.readline()
for name in names:
    records.change(identity, lambda found: (found or Record()).having_accepted({name: waiting[name]}))
"""


def test_acceptances_of_several_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    names = [f"tool{number}" for number in range(120)]
    workbench(tmp_path).judge(ToolList([tool(name) for name in names]))
    workbench(tmp_path).judge(ToolList([tool(name, "2") for name in names]))
    people = [
        subprocess.Popen(
            [sys.executable, "-c", ACCEPTING, str(tmp_path), SERVER, *names[number::3]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(3)
    ]  # fmt: skip
    for person in people:
        assert person.stdout is not None
        assert person.stdout.readline() == "ready\n"
    for person in people:
        assert person.stdin is not None
        person.stdin.write("go\n")
        person.stdin.flush()
    for person in people:
        person.communicate(timeout=90)
        assert person.returncode == 0
    assert workbench(tmp_path).judge(ToolList([tool(name, "2") for name in names])) == Verdict()


def test_a_server_that_has_listed_nothing_yet_was_not_seen(tmp_path: Path) -> None:
    workbench(tmp_path).judge(ToolList([]))
    assert workbench(tmp_path).judge(ToolList([tool("a")])) == Verdict()
    assert workbench(tmp_path).judge(ToolList([tool("a", "2")])) == Verdict(changed=("a",))


def test_another_command_at_the_same_place_inherits_what_was_accepted(tmp_path: Path) -> None:
    workbench(tmp_path).judge(ToolList([tool("a")]))
    edited = workbench(tmp_path, identity='["npx", "server@2"]')
    assert edited.judge(ToolList([tool("a", "2")])) == Verdict(changed=("a",))
    assert workbench(tmp_path, identity='["npx", "server@2"]').judge(ToolList([tool("a")])) == Verdict()


def test_the_same_command_at_another_place_is_the_same_server(tmp_path: Path) -> None:
    workbench(tmp_path).judge(ToolList([tool("a")]))
    assert workbench(tmp_path, place="elsewhere").judge(ToolList([tool("a", "2")])) == Verdict(changed=("a",))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version":1,"accepted":[],"waiting":{}}', b"\xff"])
def test_after_a_damaged_record_nothing_is_accepted(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workbench(tmp_path).judge(ToolList([tool("a")]))
    (file,) = tmp_path.glob("*.json")
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert workbench(tmp_path).judge(ToolList([tool("a")])).waiting == {"a"}
    assert "is damaged: all tools of its server wait for a review" in caplog.text
    assert file.with_suffix(".damaged").read_bytes() == content
    assert workbench(tmp_path).judge(ToolList([tool("a")])).waiting == {"a"}
    accept(tmp_path, "a")
    assert workbench(tmp_path).judge(ToolList([tool("a")])) == Verdict()


def test_a_record_that_cannot_be_read_is_not_written_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    workbench(tmp_path).judge(ToolList([tool("a")]))
    (file,) = tmp_path.glob("*.json")
    whole = file.read_bytes()
    file.unlink()
    file.symlink_to(file)  # not even root can follow it
    with caplog.at_level(logging.WARNING):
        assert workbench(tmp_path).judge(ToolList([tool("a")])).waiting == {"a"}
    assert file.is_symlink()
    assert "cannot be read" in caplog.text
    file.unlink()
    file.write_bytes(whole)
    assert workbench(tmp_path).judge(ToolList([tool("a")])) == Verdict()


def test_where_nothing_can_be_written_the_first_sight_counts_for_as_long_as_we_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sightings = workbench(tmp_path / "file" / "trust")
    assert sightings.judge(ToolList([tool("a")])) == Verdict()
    assert sightings.judge(ToolList([tool("a", "2")])) == Verdict(changed=("a",))


def test_no_secret_and_no_digest_of_one_is_recorded(tmp_path: Path) -> None:
    def judged(secret: str) -> Verdict:
        listed = ToolList([tool("a", f"Works with {secret}")])
        return workbench(tmp_path, redact=Redactor({secret})).judge(listed)

    judged("first-secret-1")
    assert judged("second-secret-2") == Verdict()
    assert "secret-" not in "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())


def test_a_giant_definition_is_known_by_its_digest_alone(tmp_path: Path) -> None:
    workbench(tmp_path).judge(ToolList([tool("a", "x" * 200_000)]))
    (file,) = tmp_path.glob("*.json")
    assert file.stat().st_size < 1000
    assert workbench(tmp_path).judge(ToolList([tool("a", "x" * 199_999 + "y")])) == Verdict(changed=("a",))


def test_digests_are_stable_between_releases() -> None:
    assert pins([tool("a")], NOTHING_SECRET)["a"].digest == (
        # Whoever changes this makes every tool of every user wait for a review.
        "2ea48894ed7ec8294524493a3dfb9b6acc50d3491addda9889a1543cb0cb5939"
    )


NAMES = st.sampled_from(["a", "b", "c"])
LISTINGS = st.dictionaries(NAMES, st.sampled_from(["1", "2", "3"]), min_size=1)


class Trust(RuleBasedStateMachine):
    """Two workbenches, one set of records, a server that changes its tools, a config that is edited, a person."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.identity = 0
        self.accepted: dict[str, str] = {}
        self.offered: dict[str, str] = {}
        self.seen_by: list[tuple[Sightings, Verdict | None]] = []

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    def started(self) -> Sightings:
        return workbench(self.directory, identity=f'["server{self.identity}"]')

    def listed(self) -> ToolList:
        return ToolList([tool(name, text) for name, text in self.offered.items()])

    @initialize(offered=LISTINGS)
    def first_sight(self, offered: Mapping[str, str]) -> None:
        self.offered = dict(offered)
        self.workbenches = [self.started(), self.started()]
        self.workbenches[0].judge(self.listed())
        self.accepted = dict(offered)

    @rule(offered=LISTINGS)
    def the_server_changes_its_tools(self, offered: Mapping[str, str]) -> None:
        self.offered = dict(offered)

    @rule(which=st.integers(0, 1), times=st.integers(1, 3))
    def they_are_seen(self, which: int, times: int) -> None:
        verdict = Verdict()
        for _ in range(times):
            verdict = self.workbenches[which].judge(self.listed())
        differing = {name for name, text in self.offered.items() if self.accepted.get(name) != text}
        assert verdict.waiting == differing
        assert set(verdict.new) == {name for name in differing if name not in self.accepted}

    @rule(which=st.integers(0, 1))
    def a_workbench_starts_again(self, which: int) -> None:
        self.workbenches[which] = self.started()

    @rule()
    def the_config_starts_something_else(self) -> None:
        self.workbenches[0].judge(self.listed())
        self.identity += 1
        self.workbenches = [self.started(), self.started()]
        self.workbenches[1].judge(self.listed())

    @precondition(lambda self: self.offered)
    @rule(name=NAMES, which=st.integers(0, 1))
    def a_person_accepts_what_is_shown(self, name: str, which: int) -> None:
        self.workbenches[which].judge(self.listed())
        accept(self.directory, name, identity=f'["server{self.identity}"]')
        if name in self.offered:
            self.accepted[name] = self.offered[name]

    @invariant()
    def nothing_else_was_accepted(self) -> None:
        record = TrustRecords(self.directory).read(f'["server{self.identity}"]')
        if record is not None:
            texts = {name: (pin.definition or {}).get("description") for name, pin in record.accepted.items()}
            assert texts == self.accepted


TestTrust = Trust.TestCase
TestTrust.settings = settings(
    max_examples=60, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_a_record_says_which_server_it_is_about(tmp_path: Path) -> None:
    workbench(tmp_path).judge(ToolList([tool("a")]))
    (file,) = tmp_path.glob("*.json")
    assert json.loads(file.read_text())["server"] == SERVER
