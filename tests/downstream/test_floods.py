"""A server that sends more than anybody wants harms itself and no other: its memory and its share are bounded."""

from pathlib import Path

import anyio
import pytest

from serving import opened, refusal, serving, used, using
from wire import Json, logged, read_log, scripted, text_of

pytestmark = pytest.mark.anyio


async def test_a_server_that_asks_without_end_and_reads_no_answer_is_ended_with_the_reason(tmp_path: Path) -> None:
    async with serving(tmp_path, {"dev": {"bad": scripted(), "good": scripted()}}) as client:
        await opened(client, "dev")
        flood = await client.start_call("use_tool", using("dev", "bad", "flood", {"kind": "unknown", "deaf": True}))
        while not flood.done:
            assert text_of(await used(client, "dev", "good", "echo")) == "{}"
        assert "does not read its stdin: more than 4 MB of messages wait for it" in refusal(await flood.wait())
        assert text_of(await used(client, "dev", "bad", "echo")) == "{}", "it is started again"


async def test_questions_beyond_what_a_client_can_be_asked_for_one_call_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def answer_never(_: Json) -> Json:
        await anyio.sleep_forever()
        raise AssertionError

    async with serving(tmp_path, {"dev": {"bad": scripted(log=str(log))}}, capabilities={"elicitation": {}}) as client:
        client.on_request["elicitation/create"] = answer_never
        await opened(client, "dev")
        await used(client, "dev", "bad", "flood", {"kind": "question", "count": 300})
        await logged(log, event="received", count=200)
    answers = [event["message"] for event in read_log(log, event="received") if "method" not in event["message"]]
    refused = [answer for answer in answers if "Too many questions" in answer.get("error", {}).get("message", "")]
    assert len(refused) == 200
    assert len(answers) == 300, "the others were answered when the call was over"


async def test_of_calls_that_ask_at_the_same_time_each_gets_a_question_for_its_client(tmp_path: Path) -> None:
    async with serving(tmp_path, {"dev": {"one": scripted()}}, "modern", capabilities={"elicitation": {}}) as client:
        await opened(client, "dev")
        calls = [await client.start_call("use_tool", using("dev", "one", "ask")) for _ in range(30)]
        pauses = [await call.wait() for call in calls]
        assert [len(pause["inputRequests"]) for pause in pauses] == [1] * 30
