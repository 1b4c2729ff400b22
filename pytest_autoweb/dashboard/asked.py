"""Query parameters of requests."""

import datetime as dt

from fastapi import HTTPException, Request


def since(days: int) -> dt.date:
    """Return the first day (UTC) of a period of `days` days that ends today."""
    return dt.datetime.now(dt.UTC).date() - dt.timedelta(days=days - 1)


def only_known(request: Request) -> None:
    """Refuse unknown query parameters, because a misspelt one would otherwise go unnoticed.

    Raises:
        HTTPException: with status 422, if there is an unknown parameter.
    """
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    for name in request.query_params:
        if name not in known:
            raise HTTPException(422, f"query.{name}: there is no such parameter")
