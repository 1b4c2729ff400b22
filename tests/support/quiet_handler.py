"""A handler for a local server of files whose requests do not fill the output of the tests."""

from http.server import SimpleHTTPRequestHandler


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Drop the line that would be logged of each request."""
