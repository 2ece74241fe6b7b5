"""The peer, message by message: every request has one outcome, and nothing that arrives can do more than that."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.jsonrpc.codec import JSONObject
from mcp_workbench.jsonrpc.errors import BadAnswer, PeerGone, RemoteError
from mcp_workbench.jsonrpc.peer import Peer, Request

pytestmark = pytest.mark.anyio


class Recorder:
    """A handler that writes down what it is told."""

    def __init__(self) -> None:
        self.requests: list[tuple[int | str, str, JSONObject]] = []
        self.notifications: list[tuple[str, JSONObject]] = []
        self.unknown: list[JSONObject] = []

    def on_request(self, request_id: int | str, method: str, params: JSONObject) -> None:
        self.requests.append((request_id, method, params))

    def on_notification(self, method: str, params: JSONObject) -> None:
        self.notifications.append((method, params))

    def on_unknown_response(self, message: JSONObject) -> None:
        self.unknown.append(message)


class Conversation:
    """A peer, what it sent, and what its handler heard."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self.heard = Recorder()
        self.peer = Peer(self.sent.append, self.heard)


def result(request_id: object, **content: Any) -> JSONObject:
    return {"jsonrpc": "2.0", "id": request_id, "result": content}


def error(request_id: object, **content: Any) -> JSONObject:
    return {"jsonrpc": "2.0", "id": request_id, "error": content}


def failure(request: Request) -> Exception:
    with pytest.raises((RemoteError, BadAnswer, PeerGone)) as caught:
        request.outcome()
    return caught.value


def test_requests_are_numbered_and_sent_at_once() -> None:
    talk = Conversation()
    talk.peer.start("one", {"a": 1})
    talk.peer.start("two", None)
    assert talk.sent == [
        {"jsonrpc": "2.0", "id": 1, "method": "one", "params": {"a": 1}},
        {"jsonrpc": "2.0", "id": 2, "method": "two"},
    ]


def test_each_response_settles_its_own_request_in_whatever_order() -> None:
    talk = Conversation()
    first, second = talk.peer.start("one", None), talk.peer.start("two", None)
    talk.peer.receive(result(2, said="two"))
    assert not first.settled
    talk.peer.receive(result(1, said="one"))
    assert (first.outcome(), second.outcome()) == ({"said": "one"}, {"said": "two"})


@pytest.mark.parametrize("echoed", [1, "1", 1.0])
def test_an_id_may_come_back_as_text_or_with_a_fraction_of_zero(echoed: object) -> None:
    talk = Conversation()
    request = talk.peer.start("one", None)
    talk.peer.receive(result(echoed, ok=True))
    assert request.outcome() == {"ok": True}


@pytest.mark.parametrize(
    "unknown", [None, 0, -1, 99, "", "two", "9" * 5000, True, 1.5, float("inf"), float("nan"), [1], {"id": 1}], ids=repr
)
def test_a_response_under_an_unknown_id_is_dropped_and_reported_and_settles_nothing(unknown: object) -> None:
    talk = Conversation()
    request = talk.peer.start("one", None)
    for message in (result(unknown), error(unknown, code=1, message="late")):
        talk.peer.receive(message)
    assert not request.settled
    assert len(talk.heard.unknown) == 2
    talk.peer.receive(result(1, ok=True))
    assert request.outcome() == {"ok": True}


def test_a_late_or_second_response_changes_nothing_and_is_not_worth_a_report() -> None:
    talk = Conversation()
    answered, cancelled = talk.peer.start("one", None), talk.peer.start("two", None)
    cancelled.cancel("enough")
    for _ in range(2):
        talk.peer.receive(result(1, ok=True))
        talk.peer.receive(result(2, ok=True))
    assert answered.outcome() == {"ok": True}
    assert str(failure(cancelled)) == "enough"
    assert talk.heard.unknown == []


def test_an_error_keeps_its_code_message_and_data() -> None:
    talk = Conversation()
    request = talk.peer.start("one", None)
    talk.peer.receive(error(1, code="E_FULL", message="full", data=[1]))
    refused = failure(request)
    assert isinstance(refused, RemoteError)
    assert (refused.code, refused.message, refused.data) == ("E_FULL", "full", [1])


@pytest.mark.parametrize("shape", [{"error": 5}, {"error": {}}, {"error": {"message": 7}}], ids=repr)
def test_an_error_without_a_message_is_still_an_error(shape: JSONObject) -> None:
    talk = Conversation()
    request = talk.peer.start("one", None)
    talk.peer.receive({"jsonrpc": "2.0", "id": 1, **shape})
    assert str(failure(request)) == "it answered with an error that has no message"


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({}, "it answered with neither a result nor an error"),
        ({"error": None}, "it answered with neither a result nor an error"),
        ({"result": None}, "it answered with a result that is not an object"),
        ({"result": [1]}, "it answered with a result that is not an object"),
    ],
    ids=repr,
)
def test_a_response_without_a_result_ends_its_request_with_the_reason(shape: JSONObject, reason: str) -> None:
    talk = Conversation()
    request = talk.peer.start("one", None)
    talk.peer.receive({"jsonrpc": "2.0", "id": 1, **shape})
    assert isinstance(failure(request), BadAnswer)
    assert str(failure(request)) == reason


def test_an_error_of_null_beside_a_result_is_no_error() -> None:
    talk = Conversation()
    request = talk.peer.start("one", None)
    talk.peer.receive({**result(1, ok=True), "error": None})
    assert request.outcome() == {"ok": True}


def test_giving_up_is_announced_once_and_only_where_it_may_be() -> None:
    talk = Conversation()
    ordinary, silent = talk.peer.start("one", None), talk.peer.start("two", None, cancellable=False)
    for request in (ordinary, silent, ordinary):
        request.cancel("enough")
    assert talk.sent[2:] == [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}}
    ]


def test_a_request_that_was_answered_cannot_be_cancelled() -> None:
    talk = Conversation()
    request = talk.peer.start("one", None)
    talk.peer.receive(result(1, ok=True))
    request.cancel("enough")
    assert request.outcome() == {"ok": True}
    assert len(talk.sent) == 1


def test_a_request_whose_response_is_lost_ends_with_the_reason_and_no_other_does() -> None:
    talk = Conversation()
    first, second = talk.peer.start("one", None), talk.peer.start("two", None)
    talk.peer.fail(1, BadAnswer("unreadable"))
    talk.peer.fail(1, BadAnswer("again"))
    talk.peer.fail(77, BadAnswer("nobody's"))
    assert str(failure(first)) == "unreadable"
    assert not second.settled


def test_the_end_settles_every_request_and_every_later_one_and_nothing_more_is_sent() -> None:
    talk = Conversation()
    before = talk.peer.start("one", None)
    talk.peer.close(PeerGone("exited"))
    after = talk.peer.start("two", None)
    talk.peer.notify("late")
    talk.peer.answer(1, {})
    assert str(failure(before)) == str(failure(after)) == "exited"
    assert len(talk.sent) == 1


def test_requests_and_notifications_reach_the_handler_with_their_params() -> None:
    talk = Conversation()
    talk.peer.receive({"jsonrpc": "2.0", "id": "q", "method": "ask", "params": {"a": 1}})
    talk.peer.receive({"jsonrpc": "2.0", "id": 0, "method": "ping"})
    talk.peer.receive({"jsonrpc": "2.0", "method": "tell"})
    assert talk.heard.requests == [("q", "ask", {"a": 1}), (0, "ping", {})]
    assert talk.heard.notifications == [("tell", {})]


@pytest.mark.parametrize(
    ("broken", "echoed"),
    [
        ({"id": 5, "method": 7}, 5),
        ({"id": "x", "method": "ask", "params": [1]}, "x"),
        ({"id": 1.5, "method": "ask"}, 1.5),
        ({"id": [1], "method": "ask"}, None),
    ],
    ids=repr,
)
def test_a_request_that_makes_no_sense_is_refused_and_goes_no_further(broken: JSONObject, echoed: object) -> None:
    talk = Conversation()
    talk.peer.receive(broken)
    assert [(message["id"], message["error"]["code"]) for message in talk.sent] == [(echoed, -32600)]
    assert talk.heard.requests == []


def test_a_notification_that_makes_no_sense_is_dropped() -> None:
    talk = Conversation()
    talk.peer.receive({"method": "tell", "params": 5})
    assert (talk.sent, talk.heard.notifications) == ([], [])


def test_answers_and_refusals_carry_the_id_of_the_request() -> None:
    talk = Conversation()
    talk.peer.answer("q", {"a": 1})
    talk.peer.refuse(7, -32000, "no", {"why": "because"})
    assert talk.sent == [
        {"jsonrpc": "2.0", "id": "q", "result": {"a": 1}},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": -32000, "message": "no", "data": {"why": "because"}}},
    ]


async def test_whoever_waits_gets_the_result_and_whoever_stops_waiting_cancels() -> None:
    talk = Conversation()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                assert await talk.peer.request("one", None) == {"ok": True}

            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            talk.peer.receive(result(1, ok=True))
        with anyio.CancelScope() as scope:
            scope.cancel()
            await talk.peer.request("two", None)
    assert talk.sent[-1]["params"] == {"requestId": 2, "reason": "no longer wanted"}


def test_whoever_began_a_request_hears_of_its_outcome_once() -> None:
    talk = Conversation()
    heard: list[bool] = []
    request = talk.peer.start("one", None, on_settled=lambda: heard.append(request.settled))
    talk.peer.receive(result(1, ok=True))
    talk.peer.receive(result(1, ok=False))
    request.cancel("too late")
    assert heard == [True]


scalars = st.none() | st.booleans() | st.integers(-2, 4) | st.floats() | st.text(max_size=3)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner))
members = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code", "message"])


@given(st.lists(st.dictionaries(members, values)))
def test_no_message_makes_the_peer_raise(messages: list[JSONObject]) -> None:
    talk = Conversation()
    talk.peer.start("one", None)
    for message in messages:
        talk.peer.receive(message)
