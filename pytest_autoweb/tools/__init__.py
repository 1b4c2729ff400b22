"""Room tools."""
