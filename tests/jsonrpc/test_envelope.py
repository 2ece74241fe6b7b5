"""Whom an unreadable line concerns."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.jsonrpc.envelope import Addresses, find_addresses

LARGE = b'"' + b"x" * 500_000 + b'\xff"'


@pytest.mark.parametrize(
    ("line", "responses", "requests"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"\xff"}}', (7,), ()),
        (b'{"jsonrpc":"2.0","id":"a\\"b","error":{"message":"\xff"}}', ('a"b',), ()),
        (b'{"result":{"text":"\xff","id":1},"jsonrpc":"2.0","id":8}', (8,), ()),
        (b'{"result":' + LARGE + b',"jsonrpc":"2.0","id":9}', (9,), ()),
        (b'{"result":' + LARGE + b',"id":9,"jsonrpc":"2.0"}', (9,), ()),
        (b'{"jsonrpc":"2.0","id":10,"result":' + LARGE + b"}", (10,), ()),
        (b'{"jsonrpc": "2.0", "id": 11, "method": "ask", "params": "\xff"}', (), (11,)),
        (b'{"method":"ask","params":' + LARGE + b',"jsonrpc":"2.0","id":12}', (), (12,)),
        (b'{"jsonrpc":"2.0","id":13,', (13,), (13,)),
        (b'{"id":14,"result":{"a":', (14,), ()),
        (b'[{"jsonrpc":"2.0","id":15,"result":"\xff"}]', (15,), ()),
        (b'{"jsonrpc":"2.0","id":16,"result":' + b"[" * 100_000, (16,), ()),
        (b'{"jsonrpc":"2.0","method":"tell","params":"\xff"}', (), ()),
        (b'{"jsonrpc":"2.0","id":null,"error":"\xff"}', (), ()),
        (b'{"params":{"id":1},"method":"tell\xff"}', (), ()),
        (b'{"text":"{\\"id\\":1,\\"result\\":{}}\xff"}', (), ()),
        (b'{"params":"\\"id\\":1,\\"result\\":' + b"x" * 100_000 + b"\xff", (), ()),
        (b"hello \xff", (), ()),
        (b"", (), ()),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_the_id_is_found_at_either_end_and_nowhere_inside(
    line: bytes, responses: tuple[int | str, ...], requests: tuple[int | str, ...]
) -> None:
    assert find_addresses(line) == Addresses(responses, requests)


@given(st.binary())
def test_any_bytes_can_be_looked_through(line: bytes) -> None:
    find_addresses(line)


@given(st.integers(0, 10**17) | st.text(), st.text(), st.permutations(["jsonrpc", "id", "result"]))
def test_every_order_of_members_is_understood_unless_the_id_stands_behind_what_is_broken(
    request_id: int | str, text: str, order: list[str]
) -> None:
    content = {"jsonrpc": "2.0", "id": request_id, "result": {"text": text, "id": 5}}
    line = json.dumps({key: content[key] for key in order}).encode()
    assert find_addresses(line) == Addresses.of(content)
