"""Room session/servers."""
