"""What requests ask for, as the store takes it."""

import datetime as dt

from fastapi import HTTPException, Request


def since(days: int) -> dt.date:
    """The first of so many days (UTC), the last of which is today."""
    return dt.datetime.now(dt.UTC).date() - dt.timedelta(days=days - 1)


def only_known(request: Request) -> None:
    """Refuse query parameters that an address does not have: a typo would go unnoticed.

    Raises:
        HTTPException: 422, there is one.
    """
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    for name in request.query_params:
        if name not in known:
            raise HTTPException(422, f"query.{name}: there is no such parameter")
