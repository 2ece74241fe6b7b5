"""The sentences about statuses, pages and redirects: usable, and without secrets."""

import pytest

from mcp_workbench.downstream.transports.http_errors import describe_page, describe_redirect, describe_status
from mcp_workbench.redaction import Redactor

HIDING = Redactor(["tok-123456"])


@pytest.mark.parametrize(
    ("status", "headers", "body", "sentence"),
    [
        (401, {}, b"", "401 Unauthorized: it wants credentials, or does not accept those it was sent"),
        (403, {}, b"no scope\nx", "403 Forbidden: the credentials do not allow this: no scope"),
        (404, {}, b"nope", "404 Not Found: there is nothing at this address (check the path of the URL)"),
        (429, {"retry-after": "30"}, b"", "429 Too Many Requests; it asks to wait 30 s"),
        (429, {}, b"", "429 Too Many Requests; wait before the next try"),
        (500, {}, b"\n\n  it broke \nsecond", "500 Internal Server Error: it broke"),
        (503, {"retry-after": "5"}, b"", "503 Service Unavailable; it asks to wait 5 s"),
        (
            503,
            {"retry-after": "Fri, 31 Dec 2027 23:59:59 GMT"},
            b"",
            "503 Service Unavailable; it asks to wait until Fri, 31 Dec 2027 23:59:59 GMT",
        ),
        (503, {"retry-after": "whenever <you> like"}, b"", "503 Service Unavailable"),
        (
            502,
            {"content-type": "text/html"},
            b"<html><head><title>Bad\n gateway</title>",
            "502 Bad Gateway: Bad gateway",
        ),
        (500, {}, b"your key tok-123456 is odd", "500 Internal Server Error: your key *** is odd"),
        (599, {}, b"\x1b[31mred", "HTTP status 599: ?[31mred"),
    ],
)
def test_a_status_says_what_it_means(status: int, headers: dict[str, str], body: bytes, sentence: str) -> None:
    assert describe_status(status, headers, body, HIDING) == sentence


def test_a_web_page_is_named_by_its_title() -> None:
    body = b"<!doctype html><TITLE>Welcome to Hotel Wi-Fi</TITLE>"
    assert describe_page({"content-type": "text/html; charset=utf-8"}, body, HIDING) == (
        "it sent a web page ('Welcome to Hotel Wi-Fi') where JSON was due "
        "(a wrong URL, or a network or proxy that wants a login in the browser first?)"
    )


def test_a_page_is_known_by_its_beginning_too() -> None:
    assert describe_page({}, b"\n <html><body>hi", HIDING).startswith("it sent a web page where JSON was due")


def test_anything_else_is_named_by_its_type() -> None:
    assert describe_page({"content-type": "image/png"}, b"", HIDING) == "it sent 'image/png' where JSON was due"
    assert describe_page({}, b"", HIDING) == "it sent something without a content type where JSON was due"


def test_a_redirect_is_shown_without_its_user_and_query() -> None:
    shown = describe_redirect("https://me:pw@other.example:8443/mcp/?key=abc#x", HIDING, same_origin=False)
    assert shown == (
        "it redirects to https://other.example:8443/mcp/, which is another origin and gets no credentials; "
        "use that address as the URL if it is the right one"
    )
