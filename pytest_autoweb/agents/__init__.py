"""The ways in which a model works on a page, and all that they share within an attempt.

`codegen`, `act`, `collect` and outside agents; which element a model means, and what is known of a
failure. `cell` puts the stages in order; whether an attempt succeeded is up to `judging`.
"""
