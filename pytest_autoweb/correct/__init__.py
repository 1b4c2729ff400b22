"""What failed, why, and what a retry may know of it.

Failure types, evidence from the page, rules for retries, the cache of calls. The retry itself is
written by the stages of `codegen`.
"""
