"""What every strategy works with: its tools, asking a model, and running code on the page."""
