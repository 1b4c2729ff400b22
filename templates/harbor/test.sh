#!/bin/sh
# Writes the reward: 1 if all checks of the case hold, else 0. Beside it, checks.json says why.
tests=$(cd "$(dirname "$0")" && pwd)
cd /
exec python3 -I -m pytest_autoweb.tools.publishing.server_verdict "$tests/case.yaml" /logs/verifier
