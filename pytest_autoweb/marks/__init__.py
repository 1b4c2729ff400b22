"""Pictures of pages with numbered boxes or crosshairs, and finding a marked element again.

What a model makes of a picture is decided in `act`, `choice` and `locate`.
"""
