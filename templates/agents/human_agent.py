"""A person as an outside agent: `pytest cases --autoweb-agent=human --headed`.

The person works in the cell's browser. A page of ours, in the person's own browser, has the task, a
field for an answer and the button Done. Clicks and changes in the cell's browser are counted as
steps, without what was written; the listeners are in a world of their own, which pages do not see.

`AUTOWEB_HUMAN` may name a program that takes the person's place: it is started with the address of
our page and that of the cell's browser.
"""

import html
import json
import os
import secrets
import shlex
import subprocess
import sys
import threading
import time
import urllib.parse
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from playwright.sync_api import BrowserContext, Error, Page, sync_playwright

WORLD = "autoweb"
BINDING = "autowebStep"
LISTENERS = """
for (const kind of ["click", "change"]) {
  addEventListener(kind, (event) => {
    if (!event.isTrusted) return;
    const element = event.composedPath()[0];
    const name = element.localName || "document";
    if (kind === "click" && name !== "input" && name !== "textarea" && name !== "select")
      autowebStep(`click ${name}`);
    else if (kind === "change") autowebStep(`change ${name} ${element.type || ""}`.trim());
  }, true);
}
"""
PAGE = """<!doctype html><meta charset="utf-8"><title>Task</title>
<style>body{{font:1.1em/1.5 sans-serif;max-width:40em;margin:2em auto;padding:0 1em}}
textarea{{width:100%;box-sizing:border-box}}button{{font:inherit;margin:1em 1em 0 0}}</style>
<h1>Your task</h1><p id="task" style="white-space:pre-wrap">{task}</p>{earlier}
<p>Do it in the browser window that has just opened, then come back to this page.</p>
<form method="post"><label>Answer, if the task asks for one
<textarea name="answer" rows="3"></textarea></label>
<button name="end" value="done">Done</button><button name="end" value="failed">Give up</button>
</form>"""
ENDED = "<!doctype html><title>Thank you</title><p>Thank you. You may close this page."


def say(kind: str, **fields: Any) -> None:
    """Tell pytest-autoweb something: one JSON object a line."""
    print(json.dumps({"type": kind, **fields}), flush=True)


def task_of(start: dict[str, Any]) -> str:
    """Return the task with the values that a person needs to do it."""
    task = str(start["task"])
    for name, value in start["secrets"].items():
        task = task.replace(f"<secret:{name}>", value)
    return task


class TaskPage(ThreadingHTTPServer):
    """Our page, at an address that only this cell's person is told."""

    daemon_threads = True

    def __init__(self, start: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.path = f"/{secrets.token_urlsafe(24)}"
        self.ended = threading.Event()
        self.end, self.answer = "", ""
        problems = html.escape("\n".join(start["previous_problems"]))
        earlier = f"<p>An earlier attempt failed:<pre>{problems}</pre>" if problems else ""
        self.text = PAGE.format(task=html.escape(task_of(start)), earlier=earlier)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: TaskPage

    def do_GET(self) -> None:
        self._send(self.server.text)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        fields = urllib.parse.parse_qs(self.rfile.read(min(length, 200_000)).decode())
        if self.path == self.server.path:
            self.server.answer = fields.get("answer", [""])[0].strip()
            self.server.end = fields.get("end", ["done"])[0]
        self._send(ENDED)
        if self.path == self.server.path:
            self.server.ended.set()

    def _send(self, text: str) -> None:
        found = self.path == self.server.path
        data = text.encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the address is the person's alone."""


def count_steps(context: BrowserContext, page: Page) -> None:
    """Tell each click and change in a page of the cell's browser."""
    session = context.new_cdp_session(page)
    session.on("Runtime.bindingCalled", lambda event: say("step", description=event["payload"]))
    session.send("Runtime.enable")
    session.send("Page.enable")
    session.send("Runtime.addBinding", {"name": BINDING, "executionContextName": WORLD})
    listeners = {"source": LISTENERS, "worldName": WORLD, "runImmediately": True}
    session.send("Page.addScriptToEvaluateOnNewDocument", listeners)


def ask(url: str, cdp_url: str) -> str:
    """Open our page; return what prevents that, or nothing."""
    stand_in = os.environ.get("AUTOWEB_HUMAN")
    if stand_in:
        subprocess.Popen([*shlex.split(stand_in), url, cdp_url], stdout=sys.stderr)
        return ""
    if not webbrowser.open(url):
        return "the page with the task could not be opened in a browser"
    return ""


def work(context: BrowserContext, start: dict[str, Any]) -> str:
    """Wait until the person has pressed a button; return why it failed, or nothing."""
    headless = "Headless" in context.pages[0].evaluate("navigator.userAgent")
    if headless and not os.environ.get("AUTOWEB_HUMAN"):
        return "a person sees no headless browser: run with --headed"
    context.on("page", lambda opened: count_steps(context, opened))
    for page in context.pages:
        count_steps(context, page)
    shown = TaskPage(start)
    if problem := ask(shown.url, start["browser"]["cdp_url"]):
        return problem
    began = time.monotonic()
    while not shown.ended.is_set():
        # Lets events of the browser in; a page that the person closed has none.
        if not context.pages:
            return "the browser was closed"
        context.pages[0].wait_for_timeout(100)
    say("log", text=f"the person took {time.monotonic() - began:.1f} s")
    if shown.answer:
        say("answer", value=shown.answer)
    return "" if shown.end == "done" else "the person gave up"


def main() -> None:
    """Have the task done, and tell how it ended."""
    start = json.loads(sys.stdin.readline())
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(start["browser"]["cdp_url"])
        try:
            problem = work(browser.contexts[0], start)
        except Error as error:
            problem = " ".join(error.message.split())[:300]
        say("failed", reason=problem) if problem else say("done")


if __name__ == "__main__":
    main()
