"""WebArena-Infinity: applications whose state lies in the page, and tasks judged by that state."""
