"""The built-in strategies: ways for a model to drive the browser, each a list of stages.

The stages themselves live in `attempt`, `codegen`, `act` and `collect`.
"""
