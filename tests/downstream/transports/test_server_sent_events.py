"""Bytes to events, however they are cut, and never more than the bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.downstream.transports.server_sent_events import Event, EventParser, EventTooLarge


def events_of(*pieces: bytes, max_size: int = 1000) -> list[Event]:
    parser = EventParser(max_size)
    return [event for piece in pieces for event in parser.feed(piece)]


def test_an_event_has_its_kind_and_its_lines_of_data() -> None:
    assert events_of(b"event: endpoint\ndata: /a\ndata: b\n\n") == [Event("endpoint", b"/a\nb")]


def test_an_event_without_a_kind_is_a_message() -> None:
    assert events_of(b"data:{}\n\n") == [Event("message", b"{}")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_may_end_in_three_ways(end: bytes) -> None:
    assert events_of(b"data: 1" + end + end + b"data: 2" + end + end)[:2] == [
        Event("message", b"1"),
        Event("message", b"2"),
    ]


def test_a_comment_and_an_event_without_data_are_no_events() -> None:
    assert events_of(b": ping\n\nid: 7\n\nevent: x\n\n") == []


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_stream() -> None:
    assert events_of(b"\xef\xbb\xbfdata: 1\n\n") == [Event("message", b"1")]


def test_the_id_to_resume_after_is_that_of_the_last_complete_event() -> None:
    parser = EventParser(1000)
    parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
    assert parser.last_id == "1"
    parser.feed(b"\n")
    assert parser.last_id == "2"


def test_an_event_without_an_id_leaves_the_last_one_in_force_and_an_empty_one_takes_it_back() -> None:
    parser = EventParser(1000)
    parser.feed(b"id: 1\ndata: a\n\ndata: b\n\n")
    assert parser.last_id == "1"
    parser.feed(b"id:\ndata: c\n\n")
    assert parser.last_id is None


def test_the_server_says_how_long_to_wait_in_milliseconds() -> None:
    parser = EventParser(1000)
    parser.feed(b"retry: 250\nretry: soon\n\n")
    assert parser.retry == 0.25


def test_an_event_beyond_the_bound_is_refused_even_before_it_ends() -> None:
    with pytest.raises(EventTooLarge):
        events_of(b"data: " + b"x" * 50, b"x" * 50, max_size=100)


def test_many_events_and_comments_within_the_bound_are_not_refused_for_their_sum() -> None:
    assert len(events_of(b"data: 1\n: a comment\n\n" * 100, max_size=60)) == 100


@given(st.lists(st.binary(max_size=30), max_size=8), st.data())
def test_how_the_stream_is_cut_changes_nothing(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"\n".join(lines) + b"\r\n\r\ndata: x\r\r"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert events_of(*pieces) == events_of(stream)
