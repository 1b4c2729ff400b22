"""The subcommands of `autoweb`: a module for each, and for what several of them take.

`cli` names the module of each, and loads it when its command is used: `add_arguments` declares what
it takes, `run` does it. They read arguments and print; the work is done in the packages they call.
"""
