"""Run folders and saved runs: how results reach the disk whole, and how a run is read back.

Databases over many runs live in `store`, the documents for readers in `report`.
"""
