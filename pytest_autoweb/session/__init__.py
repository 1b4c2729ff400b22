"""The pytest session around the cells.

Collected cases, cells as items, fixtures, the controller and its workers, web servers, progress,
preview, shards. The pytest hooks that start all this are in `plugin`.
"""
