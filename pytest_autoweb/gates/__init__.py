"""Gates: what decides whether a run is good enough."""
