"""What any room may need and none is about, one module a topic.

Errors and sentences for readers, files, locks, processes, values as people write them, secrets
taken out of text, how this process waits. Nothing here knows cases, models, pages or runs.
"""
