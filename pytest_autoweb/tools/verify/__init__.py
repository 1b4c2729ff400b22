"""`autoweb verify`, `autoweb prove`, `autoweb explore`: the validity of runs, checks and cases.

Rejudging a saved run offline from its evidence, running the controls of its cases, mutation testing
of checks, and cases proposed by a model. All judging is done by `judge`.
"""
