"""The web face of a store: pages for people, REST for programs."""
