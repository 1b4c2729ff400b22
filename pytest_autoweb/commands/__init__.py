"""The subcommands of `autoweb`, one module each with `add_parser` and `run`.

They read arguments and print; the work is done in the packages they call.
"""
