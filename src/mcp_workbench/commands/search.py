"""`mcp-workbench search WORDS`: tools by what they do, in every toolbox, without starting anything."""

import argparse

from rich.padding import Padding

from mcp_workbench.commands.loading import counted, load, show_notes
from mcp_workbench.commands.terminal import console, line, write_json
from mcp_workbench.errors import UnknownToolbox, WorkbenchError
from mcp_workbench.redaction import Redactor
from mcp_workbench.suggestions import closest
from mcp_workbench.toolboxes.admissions import Admissions
from mcp_workbench.toolboxes.compact import first_sentence
from mcp_workbench.toolboxes.finding import Finder, Findings
from mcp_workbench.toolboxes.offers import MOST, Query

_USUAL = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Finds tools by words, in all toolboxes, best first: what find_tools finds for a model. Nothing is started: "
        "servers are known once they have run, and `check --connect` runs all of them. Exit status 1 if none is found."
    )
    parser.add_argument("arguments", nargs="+", metavar="WORDS", help="what the tool should do")
    parser.add_argument("--toolbox", metavar="TOOLBOX", help="search only this one")
    parser.add_argument(
        "--limit", type=_limit, default=_USUAL, metavar="N", help=f"how many to show, up to {MOST} (default: {_USUAL})"
    )
    parser.add_argument("--json", action="store_true", help="write JSON, as find_tools answers")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    loaded = load(args)
    if not args.json:
        show_notes(loaded)
    query = Query(" ".join(args.arguments), args.limit, args.toolbox)
    if not query.text.strip():
        raise WorkbenchError("say in a few words what the tool should do: mcp-workbench search create an issue")
    known = list(loaded.config.toolboxes)
    if query.toolbox is not None and query.toolbox not in known:
        raise UnknownToolbox(
            f"Toolbox '{query.toolbox}' not found in configuration" + closest(query.toolbox, known, "toolbox")
        )
    admissions = Admissions(Redactor(loaded.secrets))
    admissions.apply(loaded)
    found = Finder().find(query, admissions.offers())
    if args.json:
        write_json(found.as_object())
    else:
        _show(found)
    return 0 if found.tools else 1


def _limit(text: str) -> int:
    if not text.isdecimal() or int(text) not in range(1, MOST + 1):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {MOST}")
    return int(text)


def _show(found: Findings) -> None:
    out = console(soft_wrap=False)
    for document in found.tools:
        out.print(f"[cyan]{line(document.tool['name'])}[/]  [dim]{line(document.toolbox)} / {line(document.server)}[/]")
        description = document.tool.get("description")
        if isinstance(description, str) and description.strip():
            out.print(Padding(line(first_sentence(description)), (0, 0, 0, 4), expand=False))
    if not found.tools:
        out.print("No tool fits these words.")
    if found.not_searched:
        names = ", ".join(map(line, found.not_searched))
        out.print(
            f"\n{counted(len(found.not_searched), 'server')} not searched, since not yet run: {names}. "
            "`mcp-workbench check --connect` runs all of them."
        )
