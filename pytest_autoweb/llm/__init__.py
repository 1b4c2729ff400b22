"""Models: how they are named, called, recorded and what their replies mean."""
