"""The collecting of detail addresses from a list, page after page, by what its links share.

The strategy that runs a collection as a cell lives in `stages`; the case's settings in `cases`.
"""
