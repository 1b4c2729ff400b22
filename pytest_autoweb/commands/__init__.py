"""The subcommands of `autoweb`, one module each, with the functions `add_parser` and `run`.

They import what they need inside `run`: `autoweb --help` declares all of them and must stay fast.
"""
