"""What a session does with the recordings of its models' replies."""

from typing import Literal

RecordMode = Literal["off", "none", "place", "once", "new_episodes", "all"]
"""`off` neither reads nor writes; `none` replays only; `place` replays what was said at the same
place of a run, whatever is asked there now, which shows what old replies do on a new page; `once`
replays a cassette that existed when the session began and records one that did not; `new_episodes`
adds what is missing; `all` records everything again."""

REPLAYING: frozenset[RecordMode] = frozenset({"none", "place"})
"""The modes in which no model is called."""
