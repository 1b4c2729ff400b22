"""The built-in gates; each module adds those it defines to `GATES`."""
