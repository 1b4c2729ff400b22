"""Puts the dashboard together, and serves it until it is stopped."""

import secrets
import socket
from collections.abc import Callable, Collection
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from pytest_autoweb import __version__
from pytest_autoweb.assets import asset_dir
from pytest_autoweb.dashboard.api_models import ErrorShape, only_known
from pytest_autoweb.dashboard.guard import Guard
from pytest_autoweb.dashboard.pages import page, page_routes
from pytest_autoweb.dashboard.rest_api import calibration_routes, run_routes
from pytest_autoweb.errors import AutowebError, SettingsError, StoreError
from pytest_autoweb.store.database import Store

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorShape, "description": "The body is not JSON, or is contradictory."},
    401: {"model": ErrorShape, "description": "The token is missing or wrong."},
    422: {"model": ErrorShape, "description": "The request does not fit this description."},
    503: {"model": ErrorShape, "description": "The store cannot be reached."},
}


def create_app(store: Store, *, token: str, hosts: Collection[str] = ("127.0.0.1",)) -> FastAPI:
    """Return the dashboard as an ASGI application.

    Args:
        store: the store that is shown.
        token: the secret that gives access.
        hosts: names and addresses under which the server is reached, without a port.
    """
    app = FastAPI(
        title="autoweb dashboard",
        version=__version__,
        description="Results of pytest-autoweb runs in a store. Rates are fractions from 0 to 1.",
        # FastAPI's own pages for these load their scripts from a foreign server; /docs below does
        # without.
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    # Only describes the token in OpenAPI: the guard checks it before any route is reached.
    bearer = Security(HTTPBearer(auto_error=False, description="The token printed at start."))
    needs = [bearer, Depends(only_known)]
    for routes in (calibration_routes(store), run_routes(store)):
        app.include_router(routes, dependencies=needs, responses=_PROBLEMS)
    app.include_router(page_routes(store))
    app.add_api_route("/static/base.css", _look_of_reports, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=asset_dir("templates") / "dashboard" / "static"))

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return page("docs.html.j2", "REST", api=app.openapi())

    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(StoreError, _no_store)
    app.add_exception_handler(HTTPException, _refused)
    app.add_middleware(
        Guard, token=token, hosts=hosts, sign_in=lambda: page("sign_in.html.j2", "Sign in", 401)
    )
    return app


def _look_of_reports() -> FileResponse:
    return FileResponse(asset_dir("templates") / "report" / "base.css")


def _malformed(request: Request, error: Exception) -> Response:
    """Say which field is malformed, without repeating what was sent, which may be secret."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return _told(request, 422, f"{where}: {first['msg']}")


def _no_store(request: Request, error: Exception) -> Response:
    return _told(request, 503, str(error))


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _told(request, error.status_code, error.detail, error.headers)


def _told(request: Request, status: int, detail: str, headers: Any = None) -> Response:
    """Return an error response, as JSON for programs and as a page for people."""
    # Paths can hold lone surrogates, which no response could be encoded with.
    detail = detail.encode("utf-8", "replace").decode()
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": detail}, status, headers)
    return page("problem.html.j2", f"Error {status}", status, detail=detail)


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LEAST_TOKEN = 20
"""The least characters of a token that a person chose."""


def serve(store: Store, *, host: str, port: int, token: str, tell: Callable[[str], object]) -> None:
    """Serve the dashboard until SIGINT.

    Args:
        store: the store that is shown.
        host: the address to listen on.
        port: the port to listen on; 0 takes a free one.
        token: the secret that gives access; an empty one is replaced by a random one.
        tell: is called with the address to open, token included, once the port is open.

    Raises:
        SettingsError: the token is too short to be safe.
        AutowebError: the server cannot listen on the address.
    """
    if token and len(token) < LEAST_TOKEN:
        raise SettingsError(f"the token needs at least {LEAST_TOKEN} characters")
    token = token or secrets.token_urlsafe(32)
    # Opened here instead of by uvicorn, so that the port is known before serving and a failure is
    # one sentence.
    listener = _listen(host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}/"
    app = create_app(store, token=token, hosts={*LOOPBACK, name})
    config = uvicorn.Config(app, log_level="warning", server_header=False)
    # Browsers never send the part after `#`, so the token gets into no log.
    tell(f"{address}#token={token}")
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise AutowebError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    listener.listen(128)
    return listener
