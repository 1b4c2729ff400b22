#!/bin/sh
# Does what the oracle of the case does, in a browser.
solution=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)" || exit
exec python3 -m pytest -q -p no:cacheprovider --rootdir=. "$solution/case.yaml" \
    --autoweb-models=builtin/oracle
