"""How well and how fast tools are found: labelled queries over the tools of published sets.

The data lies beside the repository (`../shared/retrieval`), not in it. A relevant tool counts towards recall by its
share of a query's relevant ones, so that a query with two of them is answered half by one. Times are those of the
processor, which others' work on the machine does not change.
"""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import markdown_table
from mcp_workbench.toolboxes.search import Document, ToolIndex

DATA = Path(__file__).parents[3] / "shared" / "retrieval"
HEAD = ["set", "tools", "queries", "recall@1", "recall@5", "MRR", "CPU ms per query, p50", "p99", "CPU ms to index"]
MANY = 500


@dataclass(frozen=True)
class Answered:
    """One query: the places of the relevant tools among those found, best first, and what it took."""

    places: Sequence[int]
    relevant: int
    milliseconds: float

    def recall(self, first: int) -> float:
        return sum(place <= first for place in self.places) / self.relevant

    @property
    def reciprocal(self) -> float:
        return 1 / self.places[0] if self.places else 0.0


def search_table(data: Path = DATA) -> str:
    """The table for every set, and for 500 tools made of all of them; where there is no data it says so."""
    files = sorted(data.glob("*.json"))
    if not files:
        return f"skipped: there is no data in {data}"
    sets = {file.name: json.loads(file.read_text(encoding="utf-8")) for file in files}
    everything = [tool for content in sets.values() for tool in content["tools"]]
    # The same tools again under other names, until there are as many as a person with many servers has.
    many = [
        {**everything[number % len(everything)], "server": f"server{number // len(everything)}"}
        for number in range(MANY)
    ]
    queries = [query for content in sets.values() for query in content["queries"]]
    rows = [_row(name, content["tools"], content["queries"], rated=True) for name, content in sets.items()]
    rows.append(_row("all, for speed", many, queries, rated=False))
    return markdown_table(HEAD, rows)


def measured(tools: Sequence[dict[str, Any]], queries: Sequence[dict[str, Any]]) -> tuple[float, list[Answered]]:
    """Milliseconds to make the index, and how each query fared."""
    began = time.thread_time()
    index = ToolIndex([Document("box", tool["server"], tool) for tool in tools])
    indexing = 1000 * (time.thread_time() - began)
    return indexing, [_answered(index, query) for query in queries]


def _answered(index: ToolIndex, query: dict[str, Any]) -> Answered:
    began = time.thread_time()
    found = index.search(query["query"], 20)
    milliseconds = 1000 * (time.thread_time() - began)
    relevant = {tuple(tool) for tool in query["relevant"]}
    places = [place for place, document in enumerate(found, 1) if (document.server, document.tool["name"]) in relevant]
    return Answered(places, len(relevant), milliseconds)


def _row(name: str, tools: Sequence[dict[str, Any]], queries: Sequence[dict[str, Any]], *, rated: bool) -> list[str]:
    indexing, answered = measured(tools, queries)
    times = sorted(answer.milliseconds for answer in answered)
    rating = (
        statistics.mean(answer.recall(1) for answer in answered),
        statistics.mean(answer.recall(5) for answer in answered),
        statistics.mean(answer.reciprocal for answer in answered),
    )
    return [
        name,
        f"{len(tools)}",
        f"{len(queries)}",
        *(f"{figure:.3f}" if rated else "" for figure in rating),
        f"{times[len(times) // 2]:.2f}",
        f"{times[len(times) * 99 // 100]:.2f}",
        f"{indexing:.0f}",
    ]
