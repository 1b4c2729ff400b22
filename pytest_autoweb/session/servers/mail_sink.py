"""The server that takes the mails of one web server and sends them nowhere."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from pytest_autoweb.base.mails import keep_mail

HOST = "127.0.0.1"
_MOST_BYTES = 2_000_000
_READY_S = 30.0


class _Sink:
    """Keeps each mail in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Keep the mail before its sender hears of it."""
        content = envelope.content or b""
        data = content if isinstance(content, bytes) else content.encode()
        await asyncio.to_thread(keep_mail, self._folder, envelope.rcpt_tos, data)
        return "250 kept"


def _anybody(*_: object) -> AuthResult:
    return AuthResult(success=True)


@contextmanager
def serve_mails(folder: Path, port: int) -> Iterator[None]:
    """Take mails from any sender to any recipient, and keep them in a folder.

    Raises:
        OSError: the port is taken.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sink = Controller(
        _Sink(folder),
        hostname=HOST,
        port=port,
        ready_timeout=_READY_S,
        server_hostname="localhost",
        data_size_limit=_MOST_BYTES,
        # Many sites log in at their mail server; here any name and password will do.
        authenticator=_anybody,
        auth_require_tls=False,
    )
    sink.start()
    try:
        yield
    finally:
        sink.stop(no_assert=True)
