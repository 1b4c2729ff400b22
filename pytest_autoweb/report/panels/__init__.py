"""The built-in panels of the report; each module adds those it lists to `PANELS`."""
