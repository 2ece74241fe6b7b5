"""Who says what: questions carry the name of the server that asks, and a server's own words stand in quotes.

A question to the user (elicitation) is shown by the client as coming from the workbench, so its message begins with the
toolbox and the server; everything else in it, and every other kind of question, stays as the server sent it. An error
that goes to a model begins with a sentence of ours; what follows on further lines (a server's stderr) is put into JSON
strings, so that it cannot pass for more of ours.
"""

from typing import cast

from mcp_workbench.downstream.caller import Ask
from mcp_workbench.errors import CallFailed, ConnectFailed, ToolboxFailed, WorkbenchError
from mcp_workbench.jsonrpc import codec
from mcp_workbench.jsonrpc.codec import JSONObject


def asking_for(ask: Ask | None, origin: str) -> Ask | None:
    """The way to ask the client that tells the user who asks."""
    if ask is None:
        return None

    async def ask_by_name(method: str, params: JSONObject) -> JSONObject:
        return await ask(method, attributed(method, params, origin))

    return ask_by_name


def with_origin_in_questions(result: JSONObject, origin: str) -> JSONObject:
    """A pause of a call whose questions tell the user who asks; any other result as it is."""
    questions = result.get("inputRequests")
    if result.get("resultType") != "input_required" or not isinstance(questions, dict):
        return result
    asked = {key: _question(question, origin) for key, question in cast(JSONObject, questions).items()}
    return {**result, "inputRequests": asked}


def attributed(method: object, params: JSONObject, origin: str) -> JSONObject:
    """A question's params, with the name of the server that asks before its message to the user."""
    message = params.get("message")
    if method != "elicitation/create" or not isinstance(message, str):
        return params
    return {**params, "message": f"{origin} asks: {message}"}


def _question(question: object, origin: str) -> object:
    asked = cast(JSONObject, question if isinstance(question, dict) else {})
    params = asked.get("params")
    if not isinstance(params, dict):
        return cast(object, question)
    return {**asked, "params": attributed(asked.get("method"), cast(JSONObject, params), origin)}


def sentence(error: WorkbenchError) -> str:
    """An error as a model reads it: a line of ours for each failure, with what others wrote in quotes."""
    if isinstance(error, ToolboxFailed):
        return "\n".join(sentence(failure) for failure in error.failures)
    text = str(error)
    if not isinstance(error, ConnectFailed | CallFailed):
        return text
    first, *more = text.splitlines()
    return f"{first} {codec.compact(more)}" if more else first
