"""Behaviour calibration: what failed and why, evidence from the page, and what to try next."""
