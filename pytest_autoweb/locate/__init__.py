"""The vision locator: it finds an element by asking a model on which side of lines it lies.

The drawing on pictures lives in `browser.crosshair`; the report's film in `report.locations`.
"""
