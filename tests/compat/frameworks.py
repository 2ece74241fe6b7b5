"""Agent frameworks and other programs that speak MCP, each with the workbench: connect, open a toolbox, use a tool.

    uv run python tests/compat/frameworks.py              # all of them, into a cache that later runs use
    uv run python tests/compat/frameworks.py fastmcp      # those whose names begin so
    uv run python tests/compat/frameworks.py --write      # all, and the table in docs/compatibility.md

Each is installed at an exact version into an environment of its own, and runs a script of `conversations/`. No model
takes part: what a model would be shown, and what it would get, is what the script reports. A framework works when it
shows the two tools, its opening names the server's tools, and its call returns the sum. Needs uv, npm and registries.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "compatibility.md"
BEGIN, END = "<!-- frameworks: begin -->", "<!-- frameworks: end -->"
PATIENCE = 600.0
"""Seconds for an installation, and for a conversation."""


@dataclass(frozen=True)
class Framework:
    """A framework, where it comes from, and the script that uses it.

    Attributes:
        packages: What to install, the framework first; npm's as `name@version`, PyPI's as `name==version`.
        script: A file of `conversations/`.
        way: How the framework is used, where there are several ways.
        options: What the script is told after the command of the workbench.
        fresh: Whether it starts a workbench for every call, and so needs `autoOpen`.
    """

    packages: tuple[str, ...]
    script: str
    way: str = ""
    options: tuple[str, ...] = ()
    fresh: bool = False

    @property
    def name(self) -> str:
        """The package without extras and version."""
        return self._name_and_version[0].partition("[")[0]

    @property
    def version(self) -> str:
        return self._name_and_version[1]

    @property
    def is_npm(self) -> bool:
        return self.script.endswith(".mjs")

    @property
    def _name_and_version(self) -> tuple[str, str]:
        name, _, version = self.packages[0].rpartition("@" if self.is_npm else "==")
        return name, version


LANGCHAIN = ("langchain-mcp-adapters==0.3.2",)
OPENAI = ("openai-agents==0.24.0",)
AUTOGEN = ("autogen-ext[mcp]==0.7.5", "autogen-agentchat==0.7.5", "mcp<2")  # it imports names that mcp 2 has not

FRAMEWORKS = (
    Framework(("fastmcp==4.1.2",), "fastmcp_client.py"),
    Framework(LANGCHAIN, "langchain_session.py", "a session"),
    Framework(LANGCHAIN, "langchain_get_tools.py", "`get_tools`", fresh=True),
    Framework(OPENAI, "openai_agents.py", "strict schemas", ("strict",)),
    Framework(OPENAI, "openai_agents.py", "schemas as they are", ("as-they-are",)),
    Framework(("pydantic-ai-slim[mcp]==2.66.0",), "pydantic_ai_client.py"),
    Framework(("llama-index-tools-mcp==0.6.0",), "llama_index_client.py", fresh=True),
    Framework(("semantic-kernel[mcp]==1.45.0",), "semantic_kernel_client.py"),
    Framework(AUTOGEN, "autogen_workbench.py", "`McpWorkbench`"),
    Framework(AUTOGEN, "autogen_client.py", "`mcp_server_tools`", fresh=True),
    Framework(("google-adk[mcp]==2.13.0",), "google_adk_client.py"),
    Framework(("smolagents[mcp]==1.26.0", "mcp[ws]<2"), "smolagents_client.py"),
    Framework(("@ai-sdk/mcp@1.0.101", "ai@6.0.326", "zod@4.6.7"), "ai_sdk.mjs"),
    Framework(
        ("@langchain/mcp-adapters@1.1.4", "@langchain/core@1.2.13", "@langchain/langgraph@1.4.10"), "langchain_js.mjs"
    ),
    # With zod 3 it drops what is in an object that names no properties, whichever server it is for.
    Framework(("@mastra/mcp@0.14.5", "@mastra/core@0.24.9", "zod@4.6.7"), "mastra.mjs"),
    Framework(("supergateway@4.0.0",), "supergateway.mjs", "`--stateful`", ("stateful",)),
    Framework(("supergateway@4.0.0",), "supergateway.mjs", "without `--stateful`", ("stateless",), fresh=True),
    Framework(("mcporter@0.9.0",), "mcporter.mjs", fresh=True),
)


@dataclass(frozen=True)
class Outcome:
    """How one framework fared."""

    framework: Framework
    trouble: str

    def row(self) -> str:
        """The framework's line of the table."""
        which = self.framework
        note = "starts a workbench for every call: needs `autoOpen`" if which.fresh else ""
        cells = (which.name, which.version, which.way, "no: " + self.trouble if self.trouble else "yes", note)
        return f"| {' | '.join(cells)} |"


def write_configs(folder: Path) -> None:
    """A config with one server that adds, once with `autoOpen` and once without."""
    server = {"command": sys.executable, "args": ["-S", "-E", str(TESTS / "servers" / "scripted.py"), "{}"]}
    toolboxes = {"dev": {"description": "Sums", "mcpServers": {"tools": server}}}
    for name, more in (("plain", {}), ("fresh", {"autoOpen": True})):
        (folder / f"{name}.json").write_text(json.dumps({"toolboxes": toolboxes, **more}), encoding="utf-8")


def outcome_of(framework: Framework, cache: Path, configs: Path) -> Outcome:
    """Install a framework if need be, hold the conversation, and judge it."""
    try:
        interpreter = installed(framework, cache)
        config = configs / ("fresh.json" if framework.fresh else "plain.json")
        workbench = [sys.executable, "-m", "mcp_workbench", "--config", str(config)]
        seen = json.loads(run([*interpreter, *workbench, *framework.options]).splitlines()[-1])
    except subprocess.CalledProcessError as error:
        return Outcome(framework, last_line(error.stderr))
    except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return Outcome(framework, str(error)[:200])
    return Outcome(framework, wrong_with(seen))


def wrong_with(seen: dict[str, Any]) -> str:
    """What a conversation lacks; empty when it is as it should be."""
    if seen["tools"] != ["open_toolbox", "use_tool"]:
        return f"it shows {seen['tools']}"
    if "servers_connected" not in json.dumps(seen["opened"]):
        return f"the opening says {str(seen['opened'])[:100]}"
    return "" if "3.5" in json.dumps(seen["used"]) else f"the call returns {str(seen['used'])[:100]}"


def installed(framework: Framework, cache: Path) -> list[str]:
    """The command that runs the framework's script where the framework is installed."""
    folder = cache / "-".join(framework.packages).replace("/", "_").replace("<", "below")
    script = TESTS / "compat" / "conversations" / framework.script
    if framework.is_npm:
        return _installed_from_npm(framework.packages, folder, script)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "complete").exists():
        run(["uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
        run(["uv", "pip", "install", "--quiet", "--python", str(python), *framework.packages])
        (folder / "complete").touch()
    return [str(python), str(script)]


def _installed_from_npm(packages: Sequence[str], folder: Path, script: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    for helper in script.parent.glob("*.mjs"):  # Node looks for packages where the script lies
        (folder / helper.name).write_bytes(helper.read_bytes())
    if not (folder / "complete").exists():
        quietly = ("--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error")
        run(["npm", "install", "--prefix", str(folder), *quietly, *packages])
        (folder / "complete").touch()
    return ["node", str(folder / script.name)]


def run(command: Sequence[str]) -> str:
    """Run a program to its end and return what it wrote.

    Raises:
        CalledProcessError: It failed; its stderr says why.
    """
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=True
    )
    return done.stdout


def last_line(text: str) -> str:
    """The line of a traceback, or of npm's complaints, that tells most."""
    lines = [line.strip() for line in text.splitlines() if "Error" in line or "error" in line]
    return (lines or text.split("\n"))[-1][:200].replace("|", "/")


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a Markdown table."""
    head = ["| Framework | Version | Used by | Works | |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *(outcome.row() for outcome in outcomes)])


def write_page(text: str) -> None:
    """Put the table between its marks in the documentation."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> int:
    """Run those asked for; the exit status is the number of frameworks that did not work."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only those whose names begin so")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "workbench-frameworks")
    parser.add_argument("--write", action="store_true", help="write the table into docs/compatibility.md")
    args = parser.parse_args()
    chosen = [each for each in FRAMEWORKS if not args.names or each.name.startswith(tuple(args.names))]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as configs:
        write_configs(Path(configs))
        for framework in chosen:
            outcomes.append(outcome_of(framework, args.cache, Path(configs)))
            print(outcomes[-1].row(), file=sys.stderr, flush=True)  # noqa: T201 - progress, for who waits
    print(table(outcomes))  # noqa: T201 - the result
    if args.write:
        write_page(table(outcomes))
    return sum(bool(outcome.trouble) for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
