"""Tests of pytest-playwright as cases: run under a recorder, and kept when they are proven.

What runs in the environment of the suite is in `templates/suite` and imports nothing of this
package; `held` starts the part of it that serves a test's site.
"""
