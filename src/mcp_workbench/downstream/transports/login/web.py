"""The requests of a login: bounded in time and size, and never led to another origin.

A redirect is followed only within the origin it came from and where it keeps the method; whatever a request carries
was meant for that origin alone.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import anyio
import httpcore2
import httpx2

from mcp_workbench import __version__
from mcp_workbench.downstream.transports.http_errors import describe_failure
from mcp_workbench.downstream.transports.login.addresses import host_of, origin
from mcp_workbench.downstream.transports.login.problems import LoginFailed, Unreachable
from mcp_workbench.downstream.transports.tls import tls_context
from mcp_workbench.hidden_characters import shown_in_line

_SECONDS = 20.0
_LARGEST = 512 * 1024
_REDIRECTS = 5

# No proxy leads to this machine, whatever the environment leaves out of NO_PROXY.
_DIRECT: Mapping[str, None] = {"all://localhost": None, "all://127.0.0.1": None, "all://[::1]": None}


@dataclass(frozen=True)
class Answer:
    """What came back, as far as a login cares."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any] | None:
        """The body as a JSON object, or None where it is something else."""
        try:
            value: object = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class Web:
    """Sends the requests of one login, or of one refresh."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Send a GET.

        Raises:
            Unreachable: There was no answer.
            LoginFailed: The answer has no end.
        """
        return await self._send("GET", url, headers=headers)

    async def post_form(self, url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Answer:
        """Send a form, as token endpoints want it. Raises what `get` does."""
        return await self._send("POST", url, headers=headers, data=dict(form))

    async def post_json(self, url: str, value: Any, headers: Mapping[str, str] | None = None) -> Answer:
        """Send JSON. Raises what `get` does."""
        return await self._send("POST", url, headers=headers, json=value)

    async def _send(self, method: str, url: str, *, headers: Mapping[str, str] | None, **content: Any) -> Answer:
        sent = {"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})}
        request = self._client.build_request(method, url, headers=sent, **content)
        try:
            with anyio.fail_after(_SECONDS):
                for _ in range(_REDIRECTS):
                    answer, redirected = await self._once(request)
                    if redirected is None:
                        return answer
                    request = redirected
        except TimeoutError:
            raise Unreachable(f"{host_of(url)} did not answer within {_SECONDS:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise Unreachable(f"{host_of(url)} cannot be reached: {_reason(error, host_of(url))}") from None
        raise LoginFailed(f"{host_of(url)} redirects too often")

    async def _once(self, request: httpx2.Request) -> tuple[Answer, httpx2.Request | None]:
        response = await self._client.send(request, stream=True, follow_redirects=False)
        try:
            url = str(request.url)
            redirected = response.next_request
            if redirected is not None and _stays(request, redirected):
                return Answer(url, response.status_code, response.headers, b""), redirected
            # An answer to the probe of a server may be a stream without end: of a good status nothing more is needed.
            streaming = response.headers.get("Content-Type", "").startswith("text/event-stream")
            body = b"" if streaming else await _bounded(response)
            return Answer(url, response.status_code, response.headers, body), None
        finally:
            await response.aclose()


@asynccontextmanager
async def web() -> AsyncGenerator[Web]:
    """Connections for one login or one refresh; the system's certificates and proxies hold."""
    headers = {"User-Agent": f"mcp-workbench/{__version__}"}
    try:
        certificates = tls_context()
    except OSError as error:
        raise LoginFailed(f"the certificates that the environment names cannot be read: {error.strerror}") from None
    timeout = httpx2.Timeout(_SECONDS)
    async with httpx2.AsyncClient(timeout=timeout, headers=headers, verify=certificates, mounts=_DIRECT) as client:
        yield Web(client)


def _stays(request: httpx2.Request, redirected: httpx2.Request) -> bool:
    return (
        redirected.method == request.method
        and origin(str(redirected.url)) == origin(str(request.url))
        and redirected.url.userinfo == request.url.userinfo
    )


async def _bounded(response: httpx2.Response) -> bytes:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise LoginFailed(f"{response.request.url.host} sent something compressed, which was not asked for")
    body = bytearray()
    async for chunk in response.aiter_raw():  # never unpacked: a few bytes could become very many
        body += chunk
        if len(body) > _LARGEST:
            raise LoginFailed(
                f"{response.request.url.host} sent more than {_LARGEST // 1024} KiB where a few lines were due"
            )
    return bytes(body)


def _reason(error: Exception, host: str) -> str:
    cause = error.__cause__
    if isinstance(cause, (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)):
        return str(describe_failure(cause, host, None))
    return shown_in_line(str(error))[:200] or type(error).__name__
