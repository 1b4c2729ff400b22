"""The built-in capture modes, each added to `CAPTURE_MODES`.

What all modes share lives in `page.capture`.
"""
