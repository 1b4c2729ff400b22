"""What a run becomes: statistics, JSON, HTML, markdown, terminal."""
