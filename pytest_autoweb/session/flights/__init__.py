"""Room session/flights."""
