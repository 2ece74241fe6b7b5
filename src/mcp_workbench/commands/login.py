"""`mcp-workbench login TOOLBOX SERVER`: log in at a remote server, in a browser here or on another machine."""

import argparse
import os
import sys
import webbrowser
from contextlib import aclosing

import anyio
import anyio.to_thread
from rich.markup import escape

from mcp_workbench.commands.loading import load, show_notes
from mcp_workbench.commands.remote_target import remote_target
from mcp_workbench.commands.terminal import console
from mcp_workbench.commands.typed_lines import typed_lines
from mcp_workbench.downstream.transports.login.code_request import NotOurs
from mcp_workbench.downstream.transports.login.interactive import PendingLogin
from mcp_workbench.downstream.transports.login.problems import LoginFailed, NoLoginOffered
from mcp_workbench.downstream.transports.login.server_login import ServerLogin
from mcp_workbench.downstream.transports.login.target import Target
from mcp_workbench.errors import WorkbenchError
from mcp_workbench.hidden_characters import shown_in_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Logs in at a remote server that wants it: opens the server's login page in the browser, and waits on this "
        "machine for the browser to come back. The login is kept, and renewed by itself. With --no-browser the "
        "address is only shown, to be opened on any machine; where the browser cannot come back from there, paste the "
        "address at which it ended."
    )
    parser.add_argument("toolbox", metavar="TOOLBOX", help="the toolbox")
    parser.add_argument("server", metavar="SERVER", help="the remote server in it")
    parser.add_argument("--no-browser", action="store_true", help="open no browser here: over SSH, for example")


def run(args: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    loaded = load(args)
    show_notes(loaded)
    target = remote_target(loaded, args.toolbox, args.server)
    anyio.run(log_in, target, not args.no_browser)
    return 0


async def log_in(target: Target, browser: bool) -> None:
    """Log a person in at a server, or the workbench itself where the entry says so, and tell how it went.

    Raises:
        WorkbenchError: Nobody was logged in.
    """
    login = ServerLogin(target)
    try:
        if target.is_program:
            await login.challenged(401, None, {})
        else:
            await _wait_for_person(await login.begin_login(), browser)
    except NoLoginOffered as failure:
        raise WorkbenchError(f"No login at {_place(target)}: {failure}") from None
    except LoginFailed as failure:
        raise WorkbenchError(f"Not logged in at {_place(target)}: {failure}") from None
    finally:
        login.close()
    _tell_success(login, target)


async def _wait_for_person(pending: PendingLogin, browser: bool) -> None:
    out = console()
    opening = browser and _has_browser()
    out.print("Opening the login page in your browser. Should none appear, open this address:" if opening else
              "Open this address in a browser, on this machine or another:")  # fmt: skip
    out.print(f"\n  [cyan]{escape(pending.url)}[/]\n")
    pasting = not opening or sys.stdin.isatty()
    if pasting:
        out.print(
            "Log in there. If the browser ends at a page on 127.0.0.1 or localhost that it cannot open, paste the "
            "address of that page here:"
        )
    outcome: LoginFailed | None = None  # raised at the end: a task group would wrap it
    async with anyio.create_task_group() as tasks:
        if opening:
            tasks.start_soon(_open_browser, pending.url)
        if pasting:
            tasks.start_soon(_take_pasted, pending)
        try:
            await pending.wait()
        except LoginFailed as failure:
            outcome = failure
        tasks.cancel_scope.cancel()
    if outcome is not None:
        raise outcome


def _has_browser() -> bool:
    """Whether there is one that a person sees: without a display, some that draw in this very terminal would be run."""
    graphical = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(graphical or os.environ.get("BROWSER"))


async def _open_browser(url: str) -> None:
    if not await anyio.to_thread.run_sync(webbrowser.open, url, abandon_on_cancel=True):
        console().print("[yellow]No browser could be started: open the address yourself.[/]")


async def _take_pasted(pending: PendingLogin) -> None:
    async with aclosing(typed_lines()) as lines:
        async for line in lines:
            if not line:
                continue
            try:
                await pending.pasted(line)
            except NotOurs:
                console().print(
                    "[yellow]That address does not belong to this login.[/] It begins with "
                    f"{escape(pending.comes_back_to)} and says code=… and state=… : paste all of it."
                )
            except LoginFailed:
                return  # whoever waits for the login hears why


def _tell_success(login: ServerLogin, target: Target) -> None:
    record = login.record()
    who = f" as {shown_in_line(record.who)}" if record and record.who else ""
    how = " by its client id, and needs no person for it" if target.is_program else ""
    console().print(f"[green]Logged in[/] at {escape(_place(target))}{escape(who)}{how}.")


def _place(target: Target) -> str:
    return f"server '{target.server}' of toolbox '{target.toolbox}'"
