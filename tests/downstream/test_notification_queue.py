"""What a call keeps for its client is bounded by its bytes, together with all other calls of the same server."""

from mcp_workbench.downstream.notification_queue import Allowance, NotificationQueue


def kept(queue: NotificationQueue) -> list[str]:
    texts: list[str] = []
    while queue:
        texts.append(queue.take()[1]["text"])
    return texts


def put(queue: NotificationQueue, *texts: str) -> None:
    for text in texts:
        queue.put("notifications/message", {"text": text})


def test_notifications_come_in_their_order_and_leave_the_allowance_as_it_was() -> None:
    allowance = Allowance(1000)
    queue = NotificationQueue(allowance)
    put(queue, "one", "two", "three")
    assert allowance.left < 1000
    assert kept(queue) == ["one", "two", "three"]
    assert allowance.left == 1000


def test_the_oldest_make_room_for_the_newest() -> None:
    queue = NotificationQueue(Allowance(1000))
    put(queue, *(f"{number}{'x' * 300}" for number in range(10)))
    assert [text[0] for text in kept(queue)] == ["7", "8", "9"]


def test_one_that_is_too_large_by_itself_is_dropped() -> None:
    allowance = Allowance(1000)
    queue = NotificationQueue(allowance)
    put(queue, "x" * 2000)
    assert kept(queue) == []
    assert allowance.left == 1000


def test_calls_of_one_server_share_an_allowance_and_a_call_loses_only_its_own() -> None:
    allowance = Allowance(1000)
    quiet, loud = NotificationQueue(allowance), NotificationQueue(allowance)
    put(quiet, "progress")
    put(loud, *("x" * 300 for _ in range(10)))
    assert kept(quiet) == ["progress"]
    assert len(kept(loud)) < 4
    assert allowance.left == 1000


def test_what_a_call_keeps_when_it_ends_is_given_back() -> None:
    allowance = Allowance(1000)
    queue = NotificationQueue(allowance)
    put(queue, "one", "two")
    queue.clear()
    assert (kept(queue), allowance.left) == ([], 1000)
