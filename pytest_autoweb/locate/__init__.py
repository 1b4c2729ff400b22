"""Finding an element by asking a vision model on which side of lines it lies."""
