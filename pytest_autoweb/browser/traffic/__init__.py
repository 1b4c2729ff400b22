"""Recorded traffic: a live site's answers, kept and replayed to later runs.

A case's rules, the recording's file, and the source of answers in a recorded attempt. Reading
requests off the wire is in `browser/egress`, their form for checks in `judging/evidence`.
"""
