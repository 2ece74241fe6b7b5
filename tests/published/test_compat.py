"""Published clients and servers that nobody here wrote, with the workbench before or behind them.

They are installed by name, at a major version, once a run, into a temporary folder of pytest's.
"""

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import anyio
import pytest

from compat.everything import CAPABILITIES, ROOTED, STEPS, Recording, record
from compat.inspector import TOOL_IS_ERROR, Inspector
from compat.published import PYTEST_MCPTEST, assert_nothing_runs_in, made_once, npm_install, program, run
from serving import opened, serving, using
from wire import (
    LEGACY_VERSION,
    MODERN_VERSION,
    PREFIX,
    SDK_SERVER,
    Era,
    Json,
    WireClient,
    command_of,
    read_log,
    scripted,
    text_of,
    workbench,
    write_config,
)

COMPAT = Path(__file__).parents[1] / "compat"
ERAS: tuple[Era, ...] = get_args(Era)
VERSIONS = {"legacy": LEGACY_VERSION, "modern": MODERN_VERSION}
both_eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture(scope="session")
def same(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a test's environment that differ from test to test, each with one value for all of them."""
    home = str(tmp_path_factory.mktemp("same"))
    directories = {f"XDG_{name}_HOME": home for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    return {"PYTEST_CURRENT_TEST": "whichever", **directories}


@pytest.fixture(scope="session")
def node() -> str:
    return program("node")


@pytest.fixture(scope="session")
def modules(node: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages, and with the scripts that import them: Node looks where the script lies."""

    def install(folder: Path) -> None:
        npm_install(folder)
        for script in COMPAT.glob("*.mjs"):
            shutil.copy(script, folder)

    return made_once(tmp_path_factory, "modules", install)


# `@modelcontextprotocol/server-everything`, directly and behind the workbench.


@pytest.fixture(scope="session")
def everything(node: str, modules: Path) -> Json:
    """Its `mcpServers` entry, with the whole environment: one of its tools tells of it."""
    script = modules / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    return {"command": node, "args": [str(script)], "inheritEnv": True}


@pytest.fixture(scope="session")
def direct(everything: Json, same: dict[str, str]) -> Recording:
    async def talk() -> Recording:
        async with WireClient.spawn(command_of(everything), capabilities=CAPABILITIES, env=same) as client:
            tools = (await client.request("tools/list"))["tools"]
            return await record(client, tools, lambda tool, arguments: (tool, arguments))

    return anyio.run(talk)


@dataclass(frozen=True)
class Behind:
    """What a client of one era saw of the server through `use_tool`."""

    era: Era
    recording: Recording


@pytest.fixture(scope="session", params=ERAS, ids=lambda era: f"{era}-client")
def behind(
    request: pytest.FixtureRequest, everything: Json, same: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Behind:
    era: Era = request.param
    folder = tmp_path_factory.mktemp("everything")

    async def talk() -> Recording:
        toolboxes = {"dev": {"everything": everything}}
        asked: list[Json] = []

        async def rooted(params: Json) -> Json:
            asked.append(params)
            return ROOTED

        handlers = {"roots/list": rooted}
        async with serving(folder, toolboxes, era, capabilities=CAPABILITIES, env=same, on_request=handlers) as client:
            tools = (await opened(client, "dev"))["tools"]
            recording = await record(
                client, tools, lambda tool, arguments: ("use_tool", using("dev", "everything", tool, arguments))
            )
            recording.roots_questions += asked
            return recording

    return Behind(era, anyio.run(talk))


@pytest.mark.node
def test_the_everything_server_shows_the_tools_it_shows_directly(direct: Recording, behind: Behind) -> None:
    not_for_models = {"title", "annotations", "outputSchema", "execution", "icons", "_meta"}
    ours = {"toolbox_name": "dev", "source_server": "everything"}
    expected = [{**{key: tool[key] for key in tool if key not in not_for_models}, **ours} for tool in direct.tools]
    assert behind.recording.tools == expected
    assert {step.tool for step in STEPS.values()} == {tool["name"] for tool in direct.tools}


@pytest.mark.node
@pytest.mark.parametrize("step", STEPS)
def test_a_tool_of_the_everything_server_does_what_it_does_directly(
    direct: Recording, behind: Behind, step: str
) -> None:
    expected, seen = direct.steps[step], behind.recording.steps[step]
    # The one field that the modern era adds to every result.
    added = {"resultType": "complete"} if behind.era == "modern" else {}
    outcome = {kind: {**value, **(added if kind == "result" else {})} for kind, value in expected.outcome.items()}
    assert seen.outcome == outcome
    assert seen.questions == [asked_by("dev/everything", question) for question in expected.questions]
    assert seen.progress == expected.progress


@pytest.mark.node
def test_the_calls_of_the_everything_server_were_worth_comparing(direct: Recording) -> None:
    """Two recordings of nothing would be equal too."""
    steps = direct.steps
    failed = {name for name, seen in steps.items() if "error" in seen.outcome or seen.outcome["result"].get("isError")}
    assert failed == {"wrong arguments", "url required first", "task required"}
    assert [report["progress"] for report in steps["progress"].progress] == [1, 2, 3, 4]
    asking = {name for name, seen in steps.items() if seen.questions}
    assert asking == {"form accepted", "form declined", "form cancelled", "url accepted", "sampling"}
    assert steps["url required first"].outcome["error"]["code"] == -32042


@pytest.mark.node
def test_the_everything_server_gets_the_clients_roots(direct: Recording, behind: Behind) -> None:
    assert direct.roots_questions
    assert behind.recording.roots_questions
    assert not any(direct.roots_questions + behind.recording.roots_questions)  # no params in any of them


@pytest.mark.node
def test_log_messages_of_the_everything_server_come_with_their_origin(direct: Recording, behind: Behind) -> None:
    (alone,) = [log for log in direct.logs if log["data"] == "<random message>"]
    (passed_on,) = [log for log in behind.recording.logs if log["data"] == "<random message>"]
    assert passed_on == {**alone, "logger": "dev/everything"}


def asked_by(origin: str, question: Json) -> Json:
    """The question as a user sees it through the workbench: with the name of the server that asks."""
    if question["method"] != "elicitation/create":
        return question
    params = question["params"]
    return {**question, "params": {**params, "message": f"{origin} asks: {params['message']}"}}


def passed_on(result: Json, era: Era) -> Json:
    """A modern server's result as a client of this era gets it: without what belongs to the hop behind us."""
    meta = {key: value for key, value in result.get("_meta", {}).items() if not key.startswith(PREFIX)}
    hop = {"_meta", "resultType"} if era == "legacy" else {"_meta"}
    return {key: value for key, value in result.items() if key not in hop} | ({"_meta": meta} if meta else {})


# Servers of the modern era on the official packages, directly and behind the workbench.


async def interviewed(client: WireClient, tool: str, arguments: Json) -> tuple[Json, list[Json]]:
    """The result of a tool that asks, and what it asked; all is answered, each time alike."""
    answers: Json = {
        "elicitation/create": {"action": "accept", "content": {"name": "blue"}},
        "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "la"}},
        "roots/list": {"roots": [{"uri": "file:///home/you", "name": "home"}]},
    }
    questions: list[Json] = []

    async def answer(method: str, params: Json) -> Json:
        questions.append({"method": method, "params": params})
        return answers[method]

    result = await client.call_tool_answering(tool, arguments, answer)
    return result, sorted(questions, key=json.dumps)


@pytest.fixture(params=["python", pytest.param("typescript", marks=pytest.mark.node)])
def asker(request: pytest.FixtureRequest) -> tuple[Json, str, Json]:
    """The entry of a server that asks, its tool, and the arguments."""
    if request.param == "python":
        return {"command": sys.executable, "args": [str(SDK_SERVER)]}, "greet", {"greeting": "Hello"}
    script = request.getfixturevalue("modules") / "server-2.mjs"
    return {"command": request.getfixturevalue("node"), "args": [str(script)]}, "interview", {}


@pytest.mark.anyio
@both_eras
async def test_a_modern_server_on_an_official_package_asks_what_it_asks_directly(
    asker: tuple[Json, str, Json], tmp_path: Path, era: Era
) -> None:
    entry, tool, arguments = asker
    async with WireClient.spawn(command_of(entry), era="modern", capabilities=CAPABILITIES) as client:
        result, questions = await interviewed(client, tool, arguments)
    async with serving(tmp_path, {"dev": {"asker": entry}}, era, capabilities=CAPABILITIES) as client:
        await opened(client, "dev")
        seen, asked = await interviewed(client, "use_tool", using("dev", "asker", tool, arguments))
    for question in asked:
        added = question["params"].pop("elicitationId", None)
        assert (added is not None) == (era == "legacy" and question["params"].get("mode") == "url")
    assert "blue" in text_of(result)
    named = [asked_by("dev/asker", question) for question in questions]
    assert (seen, sorted(asked, key=json.dumps)) == (passed_on(result, era), sorted(named, key=json.dumps))


# The official clients before the workbench.


@dataclass(frozen=True)
class Conversation:
    """What an official client saw, and what the server behind the workbench did."""

    era: Era
    server_era: Era
    seen: Json
    log: Path


CLIENTS: dict[str, tuple[Era, str]] = {
    "typescript-1": ("legacy", "sdk-1.mjs"),
    "typescript-2-legacy": ("legacy", "client-2.mjs"),
    "typescript-2-modern": ("modern", "client-2.mjs"),
    "python-legacy": ("legacy", "python_client.py"),
    "python-modern": ("modern", "python_client.py"),
}


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(
            (client, server), id=f"{client}-{server}-server", marks=[pytest.mark.node] * client.startswith("typescript")
        )
        for client in CLIENTS
        for server in ERAS
    ],
)
def conversation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    client, server = request.param
    era, script = CLIENTS[client]
    if script.endswith(".mjs"):
        command = [request.getfixturevalue("node"), request.getfixturevalue("modules") / script]
    else:
        command = [sys.executable, COMPAT / script]
    folder = tmp_path_factory.mktemp("client")
    log = folder / "server.jsonl"
    config = write_config(folder, {"dev": {"tools": scripted(era=server, log=str(log))}})
    finished = run([*command, era, "tools", *workbench(config)], check=True)
    assert_nothing_runs_in(folder)
    return Conversation(era, server, json.loads(finished.stdout), log)


def received(conversation: Conversation, method: str) -> list[Json]:
    messages = [event["message"] for event in read_log(conversation.log, event="received")]
    return [message for message in messages if message.get("method") == method]


def test_an_official_client_meets_the_two_tools_and_opens_a_toolbox(conversation: Conversation) -> None:
    seen = conversation.seen
    assert seen["version"] == VERSIONS[conversation.era]
    assert "- dev (1 server): The dev toolbox" in seen["instructions"]
    assert seen["tools"] == ["open_toolbox", "use_tool"]
    listing = json.loads(text_of(seen["opened"]))
    assert listing["servers_connected"] == 1
    assert "add" in [tool["name"] for tool in listing["tools"]]


def test_an_official_client_uses_a_tool(conversation: Conversation) -> None:
    added = conversation.seen["added"]
    assert (text_of(added), added["structuredContent"]) == ("3.5", {"sum": 3.5})


def test_an_official_client_answers_every_kind_of_question(conversation: Conversation) -> None:
    form = {"action": "accept", "content": {"name": "blue"}}
    answers: Json = {
        "form": [{"q1": form, "q2": form}] * 2,
        "url": [{"q1": {"action": "accept"}}],
        "sampled": [{"q1": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}}],
        "rooted": [{"q1": {"roots": [{"uri": "file:///home/you", "name": "home"}]}}],
    }
    assert {kind: json.loads(text_of(conversation.seen[kind])) for kind in answers} == answers


def test_an_official_client_is_asked_what_the_server_asked(conversation: Conversation) -> None:
    *forms, url, sampling, roots = conversation.seen["questions"]
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    form = {"mode": "form", "message": "dev/tools asks: What is your name?", "requestedSchema": schema}
    assert forms == [{"method": "elicitation/create", "params": form}] * 4
    assert (url["params"]["mode"], url["params"]["url"]) == ("url", "https://example.com/consent")
    message = {"role": "user", "content": {"type": "text", "text": "Sing"}}
    assert sampling == {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}
    assert roots == {"method": "roots/list", "params": {}}


def test_an_official_client_reads_an_error_of_the_tool_and_one_of_the_workbench(conversation: Conversation) -> None:
    failed, mistaken = conversation.seen["failed"], conversation.seen["mistaken"]
    assert (failed["isError"], text_of(failed)) == (True, "it broke")
    assert mistaken["isError"] is True
    assert text_of(mistaken).startswith("Tool 'no_such_tool' not found in server 'tools' (toolbox 'dev')")


def test_an_official_client_sees_progress_cancels_the_call_and_goes_on(conversation: Conversation) -> None:
    seen = conversation.seen
    assert seen["progress"][:3] == [{"progress": n, "total": 1000, "message": f"step {n}"} for n in (1, 2, 3)]
    assert "no longer wanted" in seen["cancelled"]
    (cancelled,) = read_log(conversation.log, event="cancelled")
    assert cancelled["tool"] == "progress"
    assert text_of(seen["afterwards"]) == '{"still": "here"}'


def test_an_official_clients_calls_reach_the_server_once_a_round(conversation: Conversation) -> None:
    called = [call["params"]["name"] for call in received(conversation, "tools/call")]
    once = ["add", "ask", "ask", "sample", "roots", "fail", "progress", "echo"]
    again = {"legacy": [], "modern": ["ask", "ask", "ask", "sample", "roots"]}[conversation.server_era]
    assert sorted(called) == sorted(once + again)


# The MCP Inspector, whose command line is a client of one request, and whose `mcpdo` is one of many.


@pytest.fixture
def inspector(node: str, modules: Path) -> Generator[Inspector]:
    """In a folder with a short path: `mcpdo` puts a socket there."""
    with tempfile.TemporaryDirectory(prefix="mcp-") as name:
        config = write_config(Path(name), {"dev": {"tools": scripted(log=f"{name}/server.jsonl")}})
        yield Inspector(node, modules, Path(name), config)
        assert_nothing_runs_in(Path(name))


@pytest.mark.node
@both_eras
def test_the_inspectors_command_line_lists_tools_without_complaint_and_opens_a_toolbox(
    inspector: Inspector, era: Era
) -> None:
    listing = inspector.cli(era, "tools/list", "--strict")
    assert [tool["name"] for tool in listing["tools"]] == ["open_toolbox", "use_tool"]
    result = inspector.cli(era, "tools/call", "--tool-name", "open_toolbox", "--tool-arg", "toolbox_name=dev")
    assert json.loads(text_of(result))["servers_connected"] == 1


@pytest.mark.node
@both_eras
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--tool-args-json", json.dumps(using("dev", "tools", "echo"))), id="one-object"),
        pytest.param(("--tool-arg", f"tool={json.dumps(using('dev', 'tools', 'echo')['tool'])}"), id="pairs"),
    ],
)
def test_the_inspectors_command_line_hears_that_its_fresh_workbench_has_no_open_toolbox(
    inspector: Inspector, era: Era, options: tuple[str, ...]
) -> None:
    refused = inspector.cli(era, "tools/call", "--tool-name", "use_tool", *options, status=TOOL_IS_ERROR)
    assert refused["isError"] is True
    assert text_of(refused).startswith("Toolbox 'dev' is not open")


@pytest.mark.node
@both_eras
def test_the_inspectors_daemon_opens_a_toolbox_uses_its_tools_and_answers_a_question(
    inspector: Inspector, era: Era
) -> None:
    assert inspector.mcpdo("connect", "bench", "--era", era)["protocolEra"] == era
    try:
        assert "isError" not in inspector.mcpdo("tools/call", "open_toolbox", '{"toolbox_name": "dev"}')
        added = inspector.mcpdo("tools/call", "use_tool", json.dumps(using("dev", "tools", "add", {"a": 1, "b": 2})))
        assert added["structuredContent"] == {"sum": 3}
        paused = inspector.mcpdo("tools/call", "use_tool", json.dumps(using("dev", "tools", "ask")))
        question = paused["elicitationPending"]
        assert question["message"] == "dev/tools asks: What is your name?"
        answered = inspector.mcpdo("elicitation/respond", question["elicitationId"], "name:=blue")
        assert json.loads(text_of(answered)) == [{"q1": {"action": "accept", "content": {"name": "blue"}}}]
    finally:
        inspector.mcpdo("daemon", "stop")


# `pytest-mcptest`, whose suite checks any server.


@pytest.mark.pypi
@both_eras
def test_the_suite_of_pytest_mcptest_finds_nothing_wrong(tmp_path: Path, era: Era) -> None:
    config = write_config(tmp_path, {"dev": {"tools": scripted()}})
    suite = tmp_path / "test_published_suite.py"
    mode = "legacy" if era == "legacy" else "auto"
    suite.write_text(
        "import pytest\nfrom pytest_mcp.suite import *\n"
        f"@pytest.fixture\ndef mcp_client_kwargs(): return {{'mode': '{mode}'}}\n"
    )
    isolated = (
        program("uv"),
        "run",
        "--isolated",
        "--no-project",
        "--python",
        sys.executable,
        "--with",
        PYTEST_MCPTEST,
    )
    target = ("--mcp-server", shlex.join(workbench(config)), "--mcp-spec-version", VERSIONS[era])
    finished = run([*isolated, "python", "-m", "pytest", "-rA", "-p", "no:cacheprovider", *target, suite], cwd=tmp_path)
    passed = [line.split("::")[1] for line in finished.stdout.splitlines() if line.startswith("PASSED")]
    assert finished.returncode == 0, finished.stdout
    assert sorted(passed) == [f"test_{checked}[asyncio]" for checked in ("handshake", "protocol_version", "tools")]
    assert "2 skipped" in finished.stdout  # there is neither a resource nor a prompt
    assert_nothing_runs_in(tmp_path)
