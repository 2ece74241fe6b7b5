"""A downstream MCP server that behaves, or misbehaves, as its first argument says.

It stands on the standard library alone, so that twenty of them start in the time one SDK server takes,
and so that nothing between a test and the wire tidies up what is sent. `argv[1]` is a JSON object:

era: `legacy` (default), `modern`, `dual` (the first request decides), `legacy-exits` (status 3 when the first
    message is not `initialize`), `legacy-silent` (never answers a method it does not know).
name, version, instructions, protocol_version: what the handshake says.
tools: raw tools to advertise instead of the standard ones; one without a behaviour of its own echoes.
tools_file: path of a JSON file with the tools, read at the start.
pages: tools per page. endless_pages: a fresh cursor for ever. repeat_cursor: the same cursor for ever.
no_tools: neither the capability nor the method.
exit_at_start: status. stderr_at_start: text. hang_at_start: never reads. slow_start: seconds.
wait_for: path; reads nothing before it exists.
fail_file: path; exits with status 1 at start while it exists. stdout_noise: raw lines printed first.
hang_on: methods never answered. error_on: method to error object. result_on: method to verbatim result.
exit_on: method to the status with which it exits instead of answering. close_stdout_on, deaf_on: methods after which
    it closes its stdout, or never reads again, and lives on. announce_on: methods after which it says that its tools
    have changed. answer_notifications: the id, null perhaps, of an error that it sends for each.
stderr_flood: bytes written to stderr at start and on each call. stdout_flood: true; noise without end.
ask_on: methods, of notifications too, after which it asks something: each with the question's method and params.
ignore_stdin_eof, ignore_sigterm: true. grandchild: true, or `"inherits"` to let it hold our pipes open;
    it inherits an ignored SIGTERM too.
log: path of a JSONL file that gets every event. log_env: names of variables to show in the start event.
"""

import base64
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

MODERN = "2026-07-28"
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PREFIX = "io.modelcontextprotocol/"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
ODD_NAME = "we__ird-na.me/with spaces é"

Json = dict[str, Any]


class RpcError(Exception):
    """Becomes the JSON-RPC error of the request being handled."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.body: Json = {"code": code, "message": message} | ({} if data is None else {"data": data})


class NoAnswerError(Exception):
    """The request being handled gets no answer from here."""


class Wire:
    """Standard output and the event log: whole lines, from any thread."""

    def __init__(self, log: str | None) -> None:
        self._lock = threading.Lock()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._log = os.open(log, flags, 0o644) if log else None

    def event(self, event: str, **fields: Any) -> None:
        if self._log is not None:
            os.write(self._log, encoded({"event": event, "at": time.time(), **fields}))

    def send(self, message: Json) -> None:
        self.event("sent", message=message)
        self.send_line(encoded(message))

    def send_line(self, line: bytes) -> None:
        try:
            with self._lock:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
        except BrokenPipeError:
            self.event("broken pipe")

    def end(self, status: int, why: str) -> NoReturn:
        # Calls still wait on other threads: a normal exit could block on them.
        self.event("exit", status=status, why=why)
        os._exit(status)


def encoded(message: Any) -> bytes:
    try:
        return json.dumps(message, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate travels only as an escape
        return json.dumps(message).encode() + b"\n"


def text_result(text: str, **extra: Any) -> Json:
    return {"content": [{"type": "text", "text": text}], **extra}


def json_result(value: Any) -> Json:
    return text_result(json.dumps(value, ensure_ascii=False))


class Server:
    """One connection: who the client is, what is under way, which tools there are."""

    def __init__(self, options: Json, wire: Wire) -> None:
        self.options = options
        self.wire = wire
        self.tools: list[Json] = options.get("tools", STANDARD_TOOLS)[:]
        if "tools_file" in options:
            with open(options["tools_file"], encoding="utf-8") as file:
                self.tools = json.load(file)
        self.era: str | None = None
        self.client: Json = {}
        self.log_level = "debug"
        self.calls: dict[str | int, Call] = {}
        self.listeners: dict[str | int, Json] = {}
        self.deaf = threading.Event()
        self._questions: dict[str, tuple[threading.Event, Json]] = {}
        self._asked = 0
        self._lock = threading.Lock()

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            if self.deaf.is_set():
                sleep_for_ever()
            try:
                message: Json | None = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                self.wire.event("received", message=message)
                self.receive(message)
                self._misbehave_after(message.get("method"))
            else:
                self.wire.event("junk", line=line.decode(errors="replace"))

    def _misbehave_after(self, method: str | None) -> None:
        if method in self.options.get("announce_on", ()):
            self.tools_changed()
        if method in self.options.get("ask_on", {}):
            self.ask(*self.options["ask_on"][method])
        if method in self.options.get("close_stdout_on", ()):
            self.wire.event("stdout closed")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if method in self.options.get("deaf_on", ()):
            self.wire.event("deaf")
            sleep_for_ever()

    def receive(self, message: Json) -> None:
        method, request_id = message.get("method"), message.get("id")
        params: Json = message.get("params") or {}
        if self.era is None:
            self._choose_era(message)
        if method in self.options.get("exit_on", {}):
            self.wire.end(self.options["exit_on"][method], f"exit_on {method}")
        if method is None:
            self._answered(message)
        elif request_id is None:
            self._notified(method, params)
        elif method != "tools/call":
            self.respond(request_id, lambda: self._result(request_id, method, params))
        elif self.accepts(request_id, method, params):
            call = self.calls[request_id] = Call(self, request_id, params)
            threading.Thread(target=self.respond, args=(request_id, call.run), daemon=True).start()

    def accepts(self, request_id: str | int, method: str, params: Json) -> bool:
        """Whether a call may start; answers it itself when not."""
        try:
            self._check(method, params)
        except RpcError as error:
            self.wire.send({"jsonrpc": "2.0", "id": request_id, "error": error.body})
        except NoAnswerError:
            pass
        else:
            return True
        return False

    def respond(self, request_id: str | int, produce: Callable[[], Json]) -> None:
        try:
            answer: Json = {"result": produce()}
        except RpcError as error:
            answer = {"error": error.body}
        except NoAnswerError:
            return
        finally:
            self.calls.pop(request_id, None)
        self.wire.send({"jsonrpc": "2.0", "id": request_id, **answer})

    def ask(self, method: str, params: Json) -> Callable[[], Json]:
        """Send a request to the client; the function returned waits for `result` or `error`."""
        with self._lock:
            self._asked += 1
            question_id = f"question-{self._asked}"
            arrived, answer = self._questions[question_id] = (threading.Event(), Json())
        self.wire.send({"jsonrpc": "2.0", "id": question_id, "method": method, "params": params})

        def wait() -> Json:
            arrived.wait()
            return answer

        return wait

    def notify(self, method: str, params: Json) -> None:
        self.wire.send({"jsonrpc": "2.0", "method": method, "params": params})

    def tools_changed(self) -> None:
        if self.era != "modern":
            self.notify("notifications/tools/list_changed", {})
        for listener, wanted in self.listeners.items():
            if wanted.get("toolsListChanged"):
                self.notify("notifications/tools/list_changed", {"_meta": {PREFIX + "subscriptionId": listener}})

    def _choose_era(self, message: Json) -> None:
        wanted = self.options.get("era", "legacy")
        method = message.get("method")
        if wanted == "legacy-exits" and method != "initialize":
            self.wire.end(3, "the first message was not initialize")
        if wanted == "dual":
            params: Json = message.get("params") or {}
            meta: Json = params.get("_meta") or {}
            wanted = "modern" if method != "initialize" and PREFIX + "protocolVersion" in meta else "legacy"
        self.era = "modern" if wanted == "modern" else "legacy"

    def _answered(self, message: Json) -> None:
        arrived, answer = self._questions.pop(message.get("id", ""), (threading.Event(), Json()))
        answer.update({key: message[key] for key in ("result", "error") if key in message})
        arrived.set()

    def _notified(self, method: str, params: Json) -> None:
        if "answer_notifications" in self.options:
            error = {"code": -32601, "message": "Method not found"}
            self.wire.send({"jsonrpc": "2.0", "id": self.options["answer_notifications"], "error": error})
        if method != "notifications/cancelled":
            return
        request_id = params.get("requestId")
        call = self.calls.get(request_id) if request_id is not None else None
        self.wire.event("cancelled", requestId=request_id, tool=call.name if call else None)
        self.listeners.pop(request_id or "", None)
        if call:
            call.cancelled.set()

    def _check(self, method: str, params: Json) -> None:
        if method in self.options.get("hang_on", ()):
            raise NoAnswerError
        if error := self.options.get("error_on", {}).get(method):
            raise RpcError(**error)
        meta: Json = params.get("_meta") or {}
        version = meta.get(PREFIX + "protocolVersion")
        if self.era == "modern" and method == "initialize":
            refused = {"supported": [MODERN], "requested": params.get("protocolVersion")}
            raise RpcError(-32022, "This server speaks 2026-07-28 only", refused)
        if self.era == "modern" and (version is None or PREFIX + "clientCapabilities" not in meta):
            raise RpcError(-32602, "The request lacks its protocol envelope")
        if self.era == "modern" and version != MODERN:
            raise RpcError(-32022, "Unsupported protocol version", {"supported": [MODERN], "requested": version})
        if version is not None and self.options.get("era") == "dual" and self.era == "legacy":
            raise RpcError(-32600, "This connection was begun with initialize")

    def _result(self, request_id: str | int, method: str, params: Json) -> Json:
        self._check(method, params)
        if method in self.options.get("result_on", {}):
            return self.options["result_on"][method]
        if self.era == "modern":
            return self._modern_result(request_id, method, params)
        return self._legacy_result(method, params)

    def _legacy_result(self, method: str, params: Json) -> Json:
        if method == "initialize":
            self.client = params
            return self._initialized(params.get("protocolVersion"))
        if method == "ping":
            return {}
        if method == "logging/setLevel":
            self.log_level = params["level"]
            return {}
        if method == "tools/list" and not self.options.get("no_tools"):
            return self._tools_page(params.get("cursor"))
        return self._unknown(method)

    def _modern_result(self, request_id: str | int, method: str, params: Json) -> Json:
        fresh: Json = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if method == "server/discover":
            about = {"supportedVersions": [MODERN], **self._about()}
            return {**fresh, **about, "_meta": {PREFIX + "serverInfo": self._identity()}}
        if method == "tools/list" and not self.options.get("no_tools"):
            return {**fresh, **self._tools_page(params.get("cursor"))}
        if method == "subscriptions/listen":
            self._listen(request_id, params["notifications"])
        return self._unknown(method)

    def _listen(self, request_id: str | int, wanted: Json) -> NoReturn:
        self.listeners[request_id] = honored = {"toolsListChanged": True} if wanted.get("toolsListChanged") else {}
        stamp = {PREFIX + "subscriptionId": request_id}
        self.notify("notifications/subscriptions/acknowledged", {"notifications": honored, "_meta": stamp})
        raise NoAnswerError

    def _unknown(self, method: str) -> NoReturn:
        if self.options.get("era") == "legacy-silent":
            raise NoAnswerError
        raise RpcError(-32601, "Method not found", method)

    def _initialized(self, requested: Any) -> Json:
        version = requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        version = self.options.get("protocol_version", version)
        return {"protocolVersion": version, "serverInfo": self._identity(), **self._about()}

    def _identity(self) -> Json:
        return {"name": self.options.get("name", "scripted"), "version": self.options.get("version", "1.0")}

    def _about(self) -> Json:
        tools = {} if self.options.get("no_tools") else {"tools": {"listChanged": True}}
        words = {"instructions": self.options["instructions"]} if "instructions" in self.options else {}
        return {"capabilities": {"logging": {}, **tools}, **words}

    def _tools_page(self, cursor: str | None) -> Json:
        start = int(cursor.removeprefix("page-")) if cursor else 0
        if self.options.get("endless_pages"):
            tool = {"name": f"tool-{start}", "inputSchema": {"type": "object"}}
            return {"tools": [tool], "nextCursor": f"page-{start + 1}"}
        if self.options.get("repeat_cursor"):
            return {"tools": self.tools, "nextCursor": "page-0"}
        end = start + self.options.get("pages", len(self.tools) or 1)
        more = {"nextCursor": f"page-{end}"} if end < len(self.tools) else {}
        return {"tools": self.tools[start:end], **more}


class Call:
    """One `tools/call` on its own thread."""

    def __init__(self, server: Server, request_id: str | int, params: Json) -> None:
        self.server, self.request_id, self.params = server, request_id, params
        self.name: str = params.get("name", "")
        self.arguments: Json = params.get("arguments") or {}
        self.meta: Json = params.get("_meta") or {}
        self.cancelled = threading.Event()

    def run(self) -> Json:
        if not any(tool["name"] == self.name for tool in self.server.tools):
            raise RpcError(-32602, f"Unknown tool: {self.name}")
        again = "requestState" in self.params
        token = self.arguments.get("token")
        self.server.wire.event("executed", tool=self.name, token=token, id=self.request_id, again=again)
        flood_stderr(self.server.options.get("stderr_flood", 0))
        verbatim, behaviour = (True, raw) if self.name == "raw" else (False, BEHAVIOURS.get(self.name, echo))
        result = behaviour(self)
        modern = self.server.era == "modern" and not verbatim
        return {"resultType": "complete", **result} if modern else result

    def argument(self, name: str, default: Any = None) -> Any:
        return self.arguments.get(name, default)

    def client_capabilities(self) -> Json:
        if self.server.era == "modern":
            return self.meta.get(PREFIX + "clientCapabilities", {})
        return self.server.client.get("capabilities", {})

    def pause(self, seconds: float) -> None:
        if self.cancelled.wait(seconds):
            raise NoAnswerError  # the client no longer wants one


def echo(call: Call) -> Json:
    return json_result(call.arguments)


def add(call: Call) -> Json:
    total = call.argument("a", 0) + call.argument("b", 0)
    return text_result(str(total), structuredContent={"sum": total})


def slow(call: Call) -> Json:
    file, seconds = call.argument("file"), call.argument("seconds")
    if seconds is not None:
        call.pause(seconds)
        return text_result("waited")
    while file is None or not os.path.exists(file):
        call.pause(0.01)
    return text_result("waited")


def progress(call: Call) -> Json:
    token, steps = call.meta.get("progressToken"), call.argument("n", 3)
    for step in range(1, steps + 1):
        call.pause(call.argument("interval", 0))
        if token is not None:
            report = {
                "progressToken": token,
                "progress": step,
                "total": call.argument("total", steps),
                "message": f"step {step}",
            }
            call.server.notify("notifications/progress", report)
    return text_result("done")


def fail(call: Call) -> Json:
    return text_result(call.argument("text", "it did not work"), isError=True)


def error(call: Call) -> Json:
    raise RpcError(call.argument("code", -32000), call.argument("message", "broken"), call.argument("data"))


def crash(call: Call) -> Json:
    write_stderr(call.argument("stderr", ""))
    call.server.wire.end(call.argument("status", 1), "crash")


def hang(_call: Call) -> Json:
    threading.Event().wait()
    raise NoAnswerError


def raw(call: Call) -> Json:
    """Return `result`, or what the text `json` holds: numbers that JSON lacks come unharmed in no other way."""
    return json.loads(call.arguments["json"]) if "json" in call.arguments else call.argument("result")


def raw_line(call: Call) -> Json:
    """Print `line` instead of an answer, or before it when `then_answer` is true.

    `$ID` in it becomes the request's id, and characters become bytes in the given `encoding`.
    """
    line = str(call.argument("line", "")).replace("$ID", json.dumps(call.request_id))
    call.server.wire.send_line(line.encode(call.argument("encoding", "utf-8")) + b"\n")
    if call.argument("then_answer"):
        return text_result("answered")
    raise NoAnswerError


def wrong_id(call: Call) -> Json:
    other = call.argument("id", "no-such-request")
    call.server.wire.send({"jsonrpc": "2.0", "id": other, "result": text_result("for someone else")})
    raise NoAnswerError


def double(call: Call) -> Json:
    for answer in ("first", "second"):
        result = {**({"resultType": "complete"} if call.server.era == "modern" else {}), **text_result(answer)}
        call.server.wire.send({"jsonrpc": "2.0", "id": call.request_id, "result": result})
    raise NoAnswerError


def big(call: Call) -> Json:
    return text_result("x" * call.argument("n", 1_000_000))


def stderr(call: Call) -> Json:
    write_stderr(call.argument("text", ""))
    return text_result("written")


def change_tools(call: Call) -> Json:
    tools, name = call.server.tools, call.argument("name", "")
    if call.argument("remove"):
        tools[:] = [tool for tool in tools if tool["name"] != name]
    else:
        tools.append({"name": name, "inputSchema": {"type": "object"}})
    call.server.tools_changed()
    return text_result("changed")


def log(call: Call) -> Json:
    level = call.argument("level", "info")
    modern = call.server.era == "modern"
    threshold = call.meta.get(PREFIX + "logLevel") if modern else call.server.log_level
    if threshold is not None and LEVELS.index(level) >= LEVELS.index(threshold):
        logger = {"logger": call.arguments["logger"]} if "logger" in call.arguments else {}
        call.server.notify("notifications/message", {"level": level, "data": call.argument("data"), **logger})
    return text_result("logged")


def env(_call: Call) -> Json:
    return json_result(dict(os.environ))


def pid(_call: Call) -> Json:
    return text_result(str(os.getpid()))


def capabilities(call: Call) -> Json:
    return json_result(call.client_capabilities())


def meta(call: Call) -> Json:
    return json_result(call.meta)


def form_question(call: Call, key: str) -> Json:
    message = call.argument("message", "What is your name?")
    if call.argument("url"):
        # The id is required before 2026-07-28 and gone from then on.
        elicitation = {} if call.server.era == "modern" else {"elicitationId": f"{call.request_id}-{key}"}
        return {"mode": "url", "message": message, "url": "https://example.com/consent", **elicitation}
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {"mode": "form", "message": message, "requestedSchema": call.argument("schema", schema)}


def ask(call: Call) -> Json:
    return interview(call, "elicitation", "elicitation/create", lambda key: form_question(call, key))


def sample(call: Call) -> Json:
    text = {"role": "user", "content": {"type": "text", "text": call.argument("message", "Say something")}}
    return interview(call, "sampling", "sampling/createMessage", lambda _: {"messages": [text], "maxTokens": 100})


def roots(call: Call) -> Json:
    return interview(call, "roots", "roots/list", lambda _: {})


def interview(call: Call, capability: str, method: str, params: Callable[[str], Json]) -> Json:
    """Ask `together` questions, `times` over; the result is a JSON list with the answers of each round by key."""
    if call.argument("polite") and capability not in call.client_capabilities():
        raise RpcError(-32021, f"The client cannot do {capability}", {"requiredCapabilities": {capability: {}}})
    keys = [f"q{number}" for number in range(1, call.argument("together", 1) + 1)]
    questions: Json = {key: {"method": method, "params": params(key)} for key in keys}
    if call.server.era == "modern":
        return modern_round(call, questions)
    rounds = [live_round(call, questions) for _ in range(call.argument("times", 1))]
    return json_result(rounds)


def live_round(call: Call, questions: Json) -> Json:
    waits = {key: call.server.ask(question["method"], question["params"]) for key, question in questions.items()}
    answers = {key: wait() for key, wait in waits.items()}
    return {key: answer.get("result", {"error": answer.get("error")}) for key, answer in answers.items()}


def modern_round(call: Call, questions: Json) -> Json:
    state = call.params.get("requestState")
    rounds: list[Any] = [] if state is None else opened(state)
    if state is not None:
        rounds.append(call.params.get("inputResponses"))
    if len(rounds) >= call.argument("times", 1):
        return json_result(rounds)
    return {"resultType": "input_required", "inputRequests": questions, "requestState": sealed(rounds)}


def sealed(rounds: list[Any]) -> str:
    return base64.b64encode(encoded(rounds)).decode()


def opened(state: str) -> list[Any]:
    try:
        return json.loads(base64.b64decode(state, validate=True))
    except ValueError as problem:
        raise RpcError(-32602, "That is not a state of this server") from problem


def flood(call: Call) -> Json:
    """Send `count` messages of one `kind` as fast as the pipe takes them (0: without end), each with `size` characters.

    `deaf` stops reading stdin before.
    """
    kind, size, count = call.argument("kind"), call.argument("size", 0), call.argument("count", 0)
    if call.argument("deaf"):
        call.server.deaf.set()
    batch = 1 if size > 1000 else 100
    for start in range(0, count, batch) if count else itertools.count(0, batch):
        messages = (FLOODS[kind](call, "x" * size, number) for number in range(start, start + batch))
        call.server.wire.send_line(b"".join(map(encoded, messages)))
        call.pause(0)
    return text_result("flooded")


def notification(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


FLOODS: dict[str, Callable[[Call, str, int], Any]] = {
    "log": lambda call, text, number: notification("notifications/message", {"level": "info", "data": text}),
    "progress": lambda call, text, number: notification(
        "notifications/progress", {"progressToken": call.meta.get("progressToken"), "progress": number, "message": text}
    ),
    "complete": lambda call, text, number: notification("notifications/elicitation/complete", {"elicitationId": text}),
    "changes": lambda call, text, number: notification("notifications/tools/list_changed", {}),
    "ping": lambda call, text, number: {"jsonrpc": "2.0", "id": f"{number}{text}", "method": "ping"},
    "unknown": lambda call, text, number: {"jsonrpc": "2.0", "id": f"{number}{text}", "method": "resources/list"},
    "question": lambda call, text, number: {
        "jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": form_question(call, "flood")
    },
    "answers": lambda call, text, number: {"jsonrpc": "2.0", "id": 987_654_321, "result": {"text": text}},
    "noise": lambda call, text, number: f"not a message {text}",
}  # fmt: skip


def ask_later(call: Call) -> Json:
    """Answer at once; ask a question with no call under way when `file` exists; log what came back."""

    def later() -> None:
        while not os.path.exists(call.argument("file", os.devnull)):
            time.sleep(0.01)
        answer = call.server.ask("elicitation/create", form_question(call, "later"))()
        call.server.wire.event("answer", answer=answer)

    threading.Thread(target=later, daemon=True).start()
    return text_result("later")


BEHAVIOURS: dict[str, Callable[[Call], Json]] = {
    behaviour.__name__: behaviour
    for behaviour in (
        *(echo, add, slow, progress, fail, error, crash, hang, raw, raw_line, wrong_id, double, big, stderr),
        *(change_tools, log, env, pid, ask, ask_later, sample, roots, capabilities, meta, flood),
    )
}


def tool(name: str, description: str, properties: Json | None = None, **extra: Any) -> Json:
    schema: Json = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": description, "inputSchema": schema, **extra}


NUMBER: Json = {"type": "number"}
INTEGER: Json = {"type": "integer"}
TEXT: Json = {"type": "string"}
ECHO_SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"text": {"type": "string", "x-widget": {"rows": 3}, "examples": ["hello", None]}},
    "x-unknown-keyword": [1, 2.5, {"deep": True}],
    "additionalProperties": True,
}
SUM_SCHEMA: Json = {"type": "object", "properties": {"sum": NUMBER}, "required": ["sum"], "x-unit": "none"}

STANDARD_TOOLS: list[Json] = [
    {
        "name": "echo",
        "title": "Echo",
        "description": "Returns its arguments as JSON text",
        "inputSchema": ECHO_SCHEMA,
        "annotations": {"readOnlyHint": True, "title": "Echo it", "x-hint": "kept"},
        "icons": [{"src": "data:image/png;base64,AA==", "mimeType": "image/png"}],
        "_meta": {"example.com/colour": "blue"},
    },
    tool("add", "Adds two numbers", {"a": NUMBER, "b": NUMBER}, outputSchema=SUM_SCHEMA),
    tool("slow", "Waits for a file, for some seconds, or for ever", {"file": TEXT, "seconds": NUMBER}),
    tool("progress", "Reports progress n times", {"n": INTEGER, "interval": NUMBER, "total": NUMBER}),
    tool("fail", "Says that it failed", {"text": TEXT}, annotations={"destructiveHint": False}),
    tool("error", "Answers with a protocol error", {"code": INTEGER, "message": TEXT, "data": {}}),
    tool("crash", "Ends the process in the middle of the call", {"status": INTEGER, "stderr": TEXT}),
    tool("hang", "Never answers"),
    tool("raw", "Returns the given result as it is", {"result": {}, "json": TEXT}),
    tool("raw_line", "Prints the given line", {"line": TEXT, "encoding": TEXT, "then_answer": {"type": "boolean"}}),
    tool("wrong_id", "Answers somebody else", {"id": {}}),
    tool("double", "Answers twice"),
    tool("big", "Returns n characters", {"n": INTEGER}),
    tool("stderr", "Writes to standard error", {"text": TEXT}),
    tool("change_tools", "Adds or removes a tool", {"name": TEXT, "remove": {"type": "boolean"}}),
    tool("log", "Sends a log message", {"level": {"enum": list(LEVELS)}, "data": {}, "logger": TEXT}),
    tool("env", "Returns the environment as JSON text"),
    tool("pid", "Returns the process id"),
    tool("ask", "Asks the user", {"times": INTEGER, "together": INTEGER, "url": {"type": "boolean"}}),
    tool("ask_later", "Asks the user when no call is under way", {"file": TEXT}),
    tool("sample", "Asks the client's model", {"message": TEXT}),
    tool("roots", "Asks for the client's roots"),
    tool("capabilities", "Returns the client's capabilities as JSON text"),
    tool("meta", "Returns the request's _meta as JSON text"),
    tool("flood", "Sends messages as fast as it can", {"kind": TEXT, "count": INTEGER, "size": INTEGER}),
    tool(ODD_NAME, "Returns its arguments as JSON text, under an odd name"),
]


def write_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def flood_stderr(size: int) -> None:
    line = "flood " * 16 + "\n"
    for _ in range(0, size, len(line)):
        sys.stderr.write(line)
    sys.stderr.flush()


def flood_stdout(wire: Wire) -> NoReturn:
    while True:
        wire.send_line(b"flood " * 100 + b"\n")


def start_grandchild(how: Any, wire: Wire) -> None:
    pipe = None if how == "inherits" else subprocess.DEVNULL
    command = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(3600)"]
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
    wire.event("grandchild", pid=child.pid)


def sleep_for_ever() -> NoReturn:
    while True:
        time.sleep(3600)


def dying_of_sigterm(wire: Wire) -> Callable[[int, FrameType | None], None]:
    def die(number: int, _frame: FrameType | None) -> None:
        wire.event("exit", status=-number, why="SIGTERM")
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    return die


def start(options: Json, wire: Wire) -> None:
    """Do whatever is to happen before the first message is read."""
    names = options.get("log_env", [])
    wire.event("start", pid=os.getpid(), env={name: os.environ[name] for name in names if name in os.environ})
    if options.get("ignore_sigterm"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, dying_of_sigterm(wire))
    if options.get("grandchild"):
        start_grandchild(options["grandchild"], wire)
    write_stderr(options.get("stderr_at_start", ""))
    flood_stderr(options.get("stderr_flood", 0))
    for line in options.get("stdout_noise", ()):
        wire.send_line(line.encode() + b"\n")
    if options.get("stdout_flood"):
        threading.Thread(target=flood_stdout, args=(wire,), daemon=True).start()
    if "exit_at_start" in options:
        wire.end(options["exit_at_start"], "exit_at_start")
    if "fail_file" in options and os.path.exists(options["fail_file"]):
        wire.end(1, "fail_file")
    if options.get("hang_at_start"):
        sleep_for_ever()
    while "wait_for" in options and not os.path.exists(options["wait_for"]):
        time.sleep(0.01)
    time.sleep(options.get("slow_start", 0))


def main() -> None:
    options: Json = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    wire = Wire(options.get("log"))
    start(options, wire)
    Server(options, wire).serve()
    if options.get("ignore_stdin_eof"):
        wire.event("stdin closed")
        sleep_for_ever()
    wire.end(0, "stdin closed")


if __name__ == "__main__":
    main()
