"""`autoweb verify`, `autoweb prove`, `autoweb explore`: what runs, checks and cases are worth.

Judging a saved run again, offline, from the evidence it kept, running the controls of its cases,
mutation testing of checks, and cases that a model proposes for it. The judging is that of `judge`;
nothing here decides on its own.
"""
