"""The subcommands of `autoweb`, each with a function that adds its parser and one that runs it.

Small ones that belong together share a module; `cli` names the module of each. They read arguments
and print; the work is done in the packages they call.
"""
