"""The `autoweb` command: the table of its commands, and the arguments that several of them take.

Each command is a module of `cli/commands`; the work is done in the rooms below.
"""
