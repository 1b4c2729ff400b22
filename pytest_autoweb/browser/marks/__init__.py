"""Pictures of pages with numbered boxes or crosshairs, and finding a marked element again.

The interpretation of a model's answer about a picture lives in `agents`.
"""
