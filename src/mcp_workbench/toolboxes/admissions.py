"""The admissions of all servers of a config, and what they have in common: the catalog and the records of trust.

Making one costs next to nothing: no file is looked at before a server lists its tools, or somebody searches.
"""

import os
from collections.abc import Callable
from functools import partial

import anyio.to_thread

from mcp_workbench.config.loading import LoadedConfig
from mcp_workbench.downstream.tool_list import ToolList
from mcp_workbench.toolboxes.admission import Admission, Policy
from mcp_workbench.toolboxes.background import Background
from mcp_workbench.toolboxes.catalog import Catalog
from mcp_workbench.toolboxes.offers import Offer
from mcp_workbench.toolboxes.sightings import Sightings
from mcp_workbench.toolboxes.trust_records import TrustRecords

_LAST_WRITES = 2.0
"""Seconds for what is still to be written when the workbench ends."""


def place_of(loaded: LoadedConfig, toolbox: str, server: str) -> str:
    """Where a server stands in a config, whatever starts it."""
    return f"{os.path.abspath(loaded.path)}\n{toolbox}\n{server}"


class Admissions:
    """An admission for each server; the same one for as long as the config has the server, whatever else changes."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._background = Background()
        self._catalog = Catalog()
        self._records = TrustRecords()
        self._admissions: dict[tuple[str, str], Admission] = {}

    def apply(self, loaded: LoadedConfig) -> None:
        """Let the policies be those of this config."""
        self._admissions = {
            (toolbox, server): self._kept_or_new(loaded, toolbox, server)
            for toolbox, box in loaded.config.toolboxes.items()
            for server in box.servers
        }

    def of(self, toolbox: str, server: str) -> Admission:
        """The admission of one server."""
        return self._admissions[toolbox, server]

    def offers(self) -> list[Offer]:
        """What every server offers, as it listed its tools last, in this process or in any. Reads files."""
        return [Offer(*place, self._known_tools(own)) for place, own in self._admissions.items()]

    async def settle(self) -> None:
        """Wait, but not for long, until everything is on disk."""
        await anyio.to_thread.run_sync(self._background.settle, _LAST_WRITES, abandon_on_cancel=True)

    def _known_tools(self, admission: Admission) -> ToolList | None:
        return admission.as_far_as_known(lambda: self._catalog.read(admission.identity))

    def _kept_or_new(self, loaded: LoadedConfig, toolbox: str, server: str) -> Admission:
        entry = loaded.config.toolboxes[toolbox].servers[server]
        policy = Policy.of(loaded.config, toolbox, server)
        known = self._admissions.get((toolbox, server))
        if known is not None and known.identity == entry.identity():
            known.policy = policy
            return known
        place = place_of(loaded, toolbox, server)
        sightings = Sightings(
            entry.identity, place, records=self._records, background=self._background, redact=self._redact
        )
        return Admission(toolbox, server, policy, sightings, on_listed=partial(self._remember, entry.identity))

    def _remember(self, identity: Callable[[], str], tools: ToolList) -> None:
        self._background.do(lambda: self._catalog.write(identity(), tools.raw, self._redact))
