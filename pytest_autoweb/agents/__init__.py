"""Room agents."""
