"""What `find_tools` answers: the tools of all toolboxes that fit a query best, whether or not they are open.

An answer is no longer than the client in front shows to its model: where whole entries are too long, the tools that
fit worst become signatures first, then signatures with first sentences, then names. Servers whose tools are not known,
since they have not run yet, are named, never started.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.toolboxes import compact
from mcp_workbench.toolboxes.listing import Form, entry
from mcp_workbench.toolboxes.offers import Offer, Query
from mcp_workbench.toolboxes.search import Document, ToolIndex

_LONGEST_QUERY_SHOWN = 300
_MOST_NAMED = 50


@dataclass(frozen=True)
class Findings:
    """What came of a query."""

    query: Query
    tools: Sequence[Document]
    not_searched: Sequence[str]
    """The servers whose tools are not known."""

    def as_json(self, limit: int) -> str:
        """The answer, in no more than this many characters if that is possible at all."""
        forms = [Form.FULL] * len(self.tools)
        text = self._written(forms)
        for form in (Form.SIGNATURES, Form.SENTENCES, Form.NAMES):
            for position in reversed(range(len(forms))):
                if len(text) <= limit:
                    return text
                forms[position] = form
                text = self._written(forms)
        return text

    def as_object(self) -> JSONObject:
        """The answer with whole entries."""
        return self._answer([Form.FULL] * len(self.tools))

    def _written(self, forms: Sequence[Form]) -> str:
        return codec.compact(self._answer(forms))

    def _answer(self, forms: Sequence[Form]) -> JSONObject:
        answer: JSONObject = {"query": _cut(self.query.text), "tools": list(map(_written, self.tools, forms))}
        if notes := self._notes(forms):
            answer["_notes"] = notes
        if self.not_searched:
            answer["_not_searched"] = _some(self.not_searched)
        return answer

    def _notes(self, forms: Sequence[Form]) -> list[str]:
        notes: list[str] = []
        if not self.tools:
            notes.append("No tool fits this query. Try other words for it, or open the toolbox that suits it best.")
        if any(form is not Form.FULL for form in forms):
            notes.append(
                "To fit, tools are listed in a shorter form. See the whole schema of one with open_toolbox, "
                "toolbox_name 'TOOLBOX_NAME/SOURCE_SERVER/NAME'."
            )
        if self.not_searched:
            notes.append("The servers in _not_searched have not run yet; opening their toolbox makes them searchable.")
        return notes


class Finder:
    """Answers queries, with an index that is made anew only when some server's tools have changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # queries come from threads
        self._indexed: Sequence[Offer] = ()
        self._index = ToolIndex([])

    def find(self, query: Query, offers: Sequence[Offer]) -> Findings:
        """The tools of these servers that fit a query best, best first."""
        with self._lock:
            index = self._index_of([offer for offer in offers if offer.tools is not None])
            found = index.search(query.text, query.limit, lambda tool: query.toolbox in (None, tool.toolbox))
        unknown = [offer.name for offer in offers if offer.tools is None and query.toolbox in (None, offer.toolbox)]
        return Findings(query, found, unknown)

    def _index_of(self, offers: Sequence[Offer]) -> ToolIndex:
        if offers != self._indexed:  # tool lists are equal only if they are the same
            self._index = ToolIndex(
                [
                    Document(offer.toolbox, offer.server, tool)
                    for offer in offers
                    if offer.tools
                    for tool in offer.tools.raw
                ]
            )
            self._indexed = offers
        return self._index


def _written(document: Document, form: Form) -> Mapping[str, object]:
    if form is Form.FULL:
        return entry(document.toolbox, document.server, document.tool)
    short = {"name": document.tool["name"], "toolbox_name": document.toolbox, "source_server": document.server}
    if form is Form.NAMES:
        return short
    lines = compact.lines if form is Form.SIGNATURES else compact.short_lines
    return {**short, "signature": lines([document.tool])[0]}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_QUERY_SHOWN else text[: _LONGEST_QUERY_SHOWN - 1] + "…"


def _some(names: Sequence[str]) -> list[str]:
    rest = len(names) - _MOST_NAMED
    return [*names[:_MOST_NAMED], f"and {rest} more"] if rest > 0 else list(names)
