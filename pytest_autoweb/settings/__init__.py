"""Room settings."""
