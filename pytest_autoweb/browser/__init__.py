"""Room browser."""
