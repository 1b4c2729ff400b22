"""An HTTP server for the processes of this machine that know its token."""

from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType

from pytest_autoweb.base.tokens import is_token

_BODY_TIMEOUT_S = 60.0


class RequestRefused(Exception):
    """Raised when the HTTP request itself is not allowed or not valid.

    Attributes:
        status: the status of the answer.
        reason: why, in a few words.
    """

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class LocalServer(ThreadingHTTPServer):
    """A server on a free port of the loopback address; the port is `server_port`.

    Args:
        token: what requests must bear, because other users of the machine can reach the port too.
        handler: answers the requests.
    """

    daemon_threads = True
    # This many may connect at the same moment; a connection beyond that is retried after 1 s.
    request_queue_size = 1024

    def __init__(self, token: str, handler: "type[LocalHandler]") -> None:
        self.token = token
        super().__init__(("127.0.0.1", 0), handler)


class LocalHandler(BaseHTTPRequestHandler):
    """The base of the handlers of a `LocalServer`: who may ask, what was sent, and the answer."""

    server: LocalServer
    server_version = "autoweb"
    sys_version = ""
    timeout = _BODY_TIMEOUT_S
    # Head and body are sent separately; the body must not wait for the head's acknowledgement.
    disable_nagle_algorithm = True
    wrong_token = "wrong token"
    """What is said to whoever does not bear the token."""
    token_headers: tuple[str, ...] = ()
    """Headers that may bear the token as well as `Authorization`."""

    def check_token(self) -> None:
        """Make sure that the request bears the server's token.

        Raises:
            RequestRefused: it does not.
        """
        scheme, _, bearer = self.headers.get("Authorization", "").partition(" ")
        given = [bearer] if scheme == "Bearer" else []
        given += [self.headers.get(name, "") for name in self.token_headers]
        if not any(is_token(each, self.server.token) for each in given):
            raise RequestRefused(401, self.wrong_token)

    def read_body(self, most: int) -> bytes:
        """Return the body of the request.

        Args:
            most: its greatest length in bytes.

        Raises:
            RequestRefused: its length is not known, or greater.
        """
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdecimal():
            raise RequestRefused(411, "length required")
        if int(length) > most:
            raise RequestRefused(413, "request too large")
        return self.rfile.read(int(length))

    def send(
        self,
        status: int,
        body: bytes,
        kind: str = "application/json",
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Send an answer; nothing happens if nobody waits for it any more.

        Args:
            status: its status.
            body: its body.
            kind: its content type.
            more: further headers.
        """
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in more.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: those who are served keep their own records."""
