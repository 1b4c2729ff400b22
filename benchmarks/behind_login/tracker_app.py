"""The issue tracker Roundup with a few issues: `tracker.py --port PORT --data FOLDER`.

The pages are those of Roundup's own classic template, unchanged. Anonymous visitors see the way in
and nothing else.
"""

import argparse
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from roundup import instance
from roundup.admin import AdminTool
from roundup.cgi.wsgi_handler import RequestDispatcher
from roundup.password import Password

PASSWORD = "adminpw"
ISSUES = [
    ("The lift stops between floors", "critical", "unread"),
    ("Paint peels in the stairwell", "wish", "deferred"),
    ("Boiler makes a knocking noise", "urgent", "in-progress"),
    ("Letter box 7 cannot be locked", "bug", "unread"),
    ("Lamp in the cellar flickers", "bug", "testing"),
    ("A bench for the back yard", "wish", "chatting"),
]
KEYWORDS = ["heating", "lighting", "lift", "outdoors"]


def install(home: Path, port: int) -> None:
    """Make a tracker from the classic template, as `roundup-admin install` and `initialise` do."""
    tool = AdminTool()
    settings = {
        "tracker_web": f"http://127.0.0.1:{port}/desk/",
        "mail_domain": "example.com",
        "mail_debug": "sent-mail.txt",
    }
    chosen = ",".join(f"{name}={value}" for name, value in settings.items())
    tool.do_install(str(home), [str(home), "classic", "sqlite", chosen])
    # Visitors see only the page where one logs in.
    schema = home / "schema.py"
    text = schema.read_text(encoding="utf-8")
    visitors = "    db.security.addPermissionToRole('Anonymous', 'View', cl)"
    assert visitors in text
    schema.write_text(text.replace(visitors, "    pass"), encoding="utf-8")
    tracker = instance.open(str(home))
    tracker.init(Password(PASSWORD, config=tracker.config))


def fill(home: Path) -> None:
    """Add the keywords and the issues."""
    db = instance.open(str(home)).open("admin")
    for name in KEYWORDS:
        db.keyword.create(name=name)
    for title, priority, status in ISSUES:
        db.issue.create(
            title=title, priority=db.priority.lookup(priority), status=db.status.lookup(status)
        )
    db.commit()
    db.close()


def main() -> None:
    """Install, fill and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    home = args.data / "tracker"
    install(home, args.port)
    fill(home)
    with make_server("127.0.0.1", args.port, _below_desk(str(home)), _Threads, _Quiet) as server:
        server.serve_forever()


def _below_desk(home: str) -> Any:
    """Serve the tracker at `/desk/`, where its links lead."""
    tracker = RequestDispatcher(home)

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = "/desk", environ["PATH_INFO"][5:] or "/"
        return tracker(environ, start_response)

    return application


class _Threads(ThreadingMixIn, WSGIServer):
    """A request that waits must not hold up the next one."""

    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    main()
