"""pytest hooks only; everything heavy is imported inside them."""
