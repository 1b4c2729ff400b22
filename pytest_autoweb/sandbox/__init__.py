"""Where generated code is linted and run.

The worker process has no Playwright object, no secret and no network. `browser/egress` decides what
the browser itself may reach.
"""
