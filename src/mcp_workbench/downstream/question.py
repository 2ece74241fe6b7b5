"""Something that a legacy server asks its client, from the asking to the one answer that it gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp_types import INVALID_REQUEST

from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.peer import Peer


@dataclass
class Question:
    """Something a legacy server asks the client, until it is answered or withdrawn."""

    peer: Peer
    request_id: int | str
    method: str
    params: JSONObject
    closed: anyio.Event = field(default_factory=anyio.Event)

    def answer(self, result: Mapping[str, Any]) -> None:
        """Pass the client's answer to the server."""
        if not self.closed.is_set():
            self.closed.set()
            self.peer.answer(self.request_id, result)

    def refuse(self, code: int, message: str, data: Any = None) -> None:
        """Tell the server that there is no answer."""
        if not self.closed.is_set():
            self.closed.set()
            self.peer.refuse(self.request_id, code, message, data)

    def give_up(self) -> None:
        """Answer for a user who never did."""
        if self.method == "elicitation/create":
            self.answer({"action": "cancel"})
        else:
            self.refuse(INVALID_REQUEST, "The client did not answer")
