"""The migrations, one file for each change, each naming the one before it."""
