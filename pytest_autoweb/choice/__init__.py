"""Which element a model means.

Matching the text it expects with what elements read, telling twins apart, feedback on what was
wrong. Shared by `act`, `collect` and scripts; nothing here asks a model or touches a page's
content.
"""
