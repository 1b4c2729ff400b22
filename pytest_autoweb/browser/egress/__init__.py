"""The border between a cell's browser and the network.

Allowed origins, the proxy that enforces them, Chromium's flags. What generated code may do is
decided in `sandbox`.
"""
