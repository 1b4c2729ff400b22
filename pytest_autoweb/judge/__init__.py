"""Success, judged from outside: checks on the page, the answer and the server."""
