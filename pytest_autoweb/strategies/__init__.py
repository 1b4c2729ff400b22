"""Strategies: each built-in way for a model to drive the browser, as a list of stages.

The stages themselves live in `attempt`, `codegen`, `act` and `collect`.
"""
