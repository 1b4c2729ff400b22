"""A town's web site with controls that are easy to mix up: `town.py --port PORT --data FOLDER`.

The pages lie in the folder `town` beside this file; what was done is in `FOLDER/town.db`.
"""

from pathlib import Path

from deeds import DeedHandler, serve

PAGES = Path(__file__).parent / "town"

if __name__ == "__main__":
    serve(DeedHandler, PAGES, "town")
