"""What any package may need and no package is about, one module a topic.

Python text, JSON values, files, locks, tokens, local servers, XPath. Nothing here knows cases,
models, pages or runs, and nothing here imports another package.
"""
