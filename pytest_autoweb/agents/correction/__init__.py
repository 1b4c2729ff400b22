"""The type and cause of a failure, and the information that a retry may get about it.

Failure types, evidence from the page, rules for retries, the cache of calls. The stages that write
the retry live in `codegen`.
"""
