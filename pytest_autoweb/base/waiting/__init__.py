"""Room base/waiting."""
