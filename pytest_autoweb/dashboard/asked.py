"""What requests ask for, as the store takes it."""

import datetime as dt


def since(days: int) -> dt.date:
    """The first of so many days (UTC), the last of which is today."""
    return dt.datetime.now(dt.UTC).date() - dt.timedelta(days=days - 1)
