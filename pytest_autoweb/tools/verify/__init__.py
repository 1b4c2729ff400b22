"""Whether runs, checks and cases are right: `run rejudge`, `prove` and `explore` of `autoweb`.

Judging a saved run again from its evidence, the controls of its cases, changed checks, and cases
that a model proposes. All judging is done by `judging`.
"""
