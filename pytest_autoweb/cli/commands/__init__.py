"""The commands of `autoweb`, a module for each.

`cli/command_line.py` names them and loads a module when its command is used: `add_arguments`
declares what it takes, `run` does it. They read arguments and print; `tools` and others do the
work.
"""
