"""How long a tool result may be before a client cuts it, by the name that the client gives itself.

A model whose client cuts the answer of `open_toolbox` sees half a listing, or the name of a file. The figures were
measured with each client's default settings, in characters; those that clients count in tokens or bytes are rounded
down. `listingLimit` in the config overrides them.
"""

from dataclasses import dataclass

DEFAULT_LIMIT = 40_000
"""For a client that is not in the table: what most of those in it accept."""

_LONGEST_NAME = 200


@dataclass(frozen=True)
class ClientCap:
    """What one client does with a long tool result."""

    client: str
    names: tuple[str, ...]
    """How its `clientInfo.name` begins, in lower case."""
    limit: int
    source: str


CAPS = (
    ClientCap("Cline", ("cline",), 8_000, "measured: longer results reach the model without their middle"),
    ClientCap("Codex", ("codex",), 12_000, "measured: 12,000 to 48,000 characters by model; the least of them"),
    ClientCap("Qwen Code", ("qwen",), 13_000, "measured: longer results become a file and an excerpt"),
    ClientCap("Copilot CLI", ("copilot", "github-copilot", "github copilot"), 16_000, "measured: about 17,000"),
    ClientCap("Gemini CLI", ("gemini",), 39_000, "measured: 40,000; longer results become a file and an excerpt"),
    ClientCap(
        "Claude Code",
        ("claude-code", "claude code"),
        48_000,
        "measured: about 50,000 in versions that do not read `anthropic/maxResultSizeChars`",
    ),
    ClientCap("opencode", ("opencode",), 48_000, "measured: it cuts somewhere below 110,000; less than half of that"),
)


def limit_for(client_name: object) -> int:
    """How many characters a listing may have for a client of this name, whatever it sent for one."""
    if not isinstance(client_name, str):
        return DEFAULT_LIMIT
    name = client_name[:_LONGEST_NAME].strip().casefold()
    return next((cap.limit for cap in CAPS if name.startswith(cap.names)), DEFAULT_LIMIT)


def clients_that_show_less(characters: int) -> list[str]:
    """The known clients for which a listing of this length has to be shortened."""
    return [cap.client for cap in CAPS if cap.limit < characters]
