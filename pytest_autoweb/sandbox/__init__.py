"""Where generated code is linted and run.

In a worker process that holds no Playwright object, no secret and no network. What the browser
itself may reach is decided in `egress`.
"""
