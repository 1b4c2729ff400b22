"""The subcommands of `autoweb`: one module each, with `add_parser` and `run`."""
