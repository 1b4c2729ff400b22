"""Assembles the dashboard: its pages for people, access control, and the server.

Every text in the pages is escaped, and only signing in needs a script.

Only the holder of the token has access. A page on another site can make a browser call a local
server. Four things protect against that: the name in `Host` must be one of ours, because a foreign
name can be made to resolve to this machine; requests from other sites are rejected; browsers do not
send the cookie from other sites (`SameSite=Strict`); and apart from signing in, no request changes
anything.
"""

import datetime as dt
import hashlib
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping, Sequence
from functools import cache
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import quote

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException as AnyHTTPException

from pytest_autoweb import __version__
from pytest_autoweb.base.errors import AutowebError, SettingsError, StoreError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.base.tokens import is_token
from pytest_autoweb.report.wording import failure_name
from pytest_autoweb.results.analysis.correction_facts import arm_label
from pytest_autoweb.store import call_queries, correction_queries, run_queries
from pytest_autoweb.store.dashboard import rest_api
from pytest_autoweb.store.dashboard.rest_api import (
    CALIBRATION,
    CALIBRATION_BEFORE,
    Days,
    ErrorShape,
    Id,
    Name,
    calibration_routes,
    cell_detail,
    only_known,
    overview,
    run_detail,
    run_routes,
    run_shape,
    since,
)
from pytest_autoweb.store.database import Store
from pytest_autoweb.store.run_queries import ModelInRun
from pytest_autoweb.store.table_rows import clean

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The pages run and load only files from this server."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
OPEN = ("/static/", "/api/session")
"""Paths that need no token: static files, and the route that exchanges a token for a cookie."""

WIDTH, HEIGHT, MARGIN = 640, 140, 14
COST_HEIGHT = 36
_DRAWING = {"width": WIDTH, "height": HEIGHT, "margin": MARGIN, "cost_height": COST_HEIGHT}
MOST = 30
"""Maximum number of runs in a chart and in the table below it; another page has all of them."""

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorShape, "description": "The body is not JSON, or is contradictory."},
    401: {"model": ErrorShape, "description": "The token is missing or wrong."},
    422: {"model": ErrorShape, "description": "The request does not fit this description."},
    503: {"model": ErrorShape, "description": "The store cannot be reached."},
}


class Guard:
    """ASGI middleware that demands the token and adds security headers to every response.

    Args:
        app: the application to protect.
        token: a secret of at least 20 characters.
        hosts: names and addresses under which the server is reached, without a port.
        sign_in: renders the page for a browser without a valid cookie.
    """

    def __init__(
        self, app: App, *, token: str, hosts: Collection[str], sign_in: Callable[[], Response]
    ) -> None:
        self._app, self._sign_in = app, sign_in
        self._hosts = frozenset(hosts)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Request(scope))
        await (refusal or self._app)(scope, receive, send_safely)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        # An unknown host name may be DNS rebinding: another site's name that resolves to us.
        if _name(headers.get("host", "")) not in self._hosts:
            return _error(421, "this server does not answer to that host name")
        if not _from_here(request):
            return _error(403, "requests from other sites are refused")
        path = request.url.path
        if path == "/api/session":
            return self._session(request)
        if path.startswith(OPEN) or self._known(request):
            return None
        if path.startswith("/api/") or "text/html" not in headers.get("accept", ""):
            return _error(401, "the token is missing or wrong", {"www-authenticate": "Bearer"})
        return self._sign_in()

    def _session(self, request: Request) -> Response:
        """Exchange the token for a cookie.

        Only the header is accepted, so the token never appears in a URL that might be logged.
        """
        if request.method != "POST":
            return _error(405, "POST only", {"allow": "POST"})
        if not self._bears_token(request.headers):
            return _error(401, "the token is missing or wrong", {"www-authenticate": "Bearer"})
        answer = Response(status_code=204)
        answer.set_cookie(
            _cookie(request), self._pass(), httponly=True, samesite="strict", path="/"
        )
        return answer

    def _known(self, request: Request) -> bool:
        return self._bears_token(request.headers) or self._has_pass(request)

    def _bears_token(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and is_token(token.strip(), self._token)

    def _has_pass(self, request: Request) -> bool:
        try:
            found = SimpleCookie(request.headers.get("cookie", "")).get(_cookie(request))
        except CookieError:
            return False
        given = found.value if found else ""
        return is_token(given, self._pass())

    def _pass(self) -> str:
        """Return the cookie's value, from which the token cannot be computed."""
        return hmac.new(self._token.encode(), b"cookie", hashlib.sha256).hexdigest()


def _name(host: str) -> str:
    """Return the host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()


def _from_here(request: Request) -> bool:
    """Return whether a request comes from our own pages, a program, or a link a person followed."""
    headers = request.headers
    # A person may follow a link from another site, because a GET changes nothing here.
    follows = request.method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not follows:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _cookie(request: Request) -> str:
    """Return the cookie's name, which includes the port because cookies do not distinguish ports.

    Otherwise two dashboards on one machine would overwrite each other's cookie.
    """
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"autoweb_{port}" if port.isdecimal() else "autoweb"


def _error(status: int, reason: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"detail": reason}, status, headers)


class ChartPoint(NamedTuple):
    """One run of a model as a point of a chart."""

    x: float
    y: float | None
    """The height of the pass rate; None when nothing was rated."""
    low: float
    high: float
    cost: float
    """The height of the bar for the run's cost; 0 when the cost is unknown."""
    point: ModelInRun


class Trend(NamedTuple):
    """The chart of one model over its runs."""

    model: str
    marks: tuple[ChartPoint, ...]
    line: str
    """The points of the polyline, in SVG syntax."""
    points: tuple[ModelInRun, ...]
    """The points drawn, newest first, for the table below the chart."""
    runs: int
    """How many runs of the model there are, drawn or not."""
    dearest: float
    """The cost of the most expensive run drawn, in US dollars; 0 when no cost is known."""


def trends_of(points: Sequence[ModelInRun], runs: Mapping[str, int]) -> list[Trend]:
    """Return one chart for each model, in the order of their names.

    Args:
        points: the points to draw of all models, oldest first.
        runs: how many runs of each model there are.
    """
    models = sorted({point.model for point in points})
    return [
        _trend(model, [point for point in points if point.model == model], runs[model])
        for model in models
    ]


def _trend(model: str, drawn: list[ModelInRun], runs: int) -> Trend:
    step = (WIDTH - 2 * MARGIN) / max(len(drawn) - 1, 1)
    start = MARGIN if len(drawn) > 1 else WIDTH / 2
    dearest = max((point.cost_usd or 0.0 for point in drawn), default=0.0)
    marks = tuple(_mark(point, start + n * step, dearest) for n, point in enumerate(drawn))
    line = " ".join(f"{mark.x:.1f},{mark.y:.1f}" for mark in marks if mark.y is not None)
    return Trend(model, marks, line, tuple(reversed(drawn)), runs, dearest)


def _mark(point: ModelInRun, x: float, dearest: float) -> ChartPoint:
    rate, interval = point.pass_rate, point.pass_interval
    low, high = (interval.low, interval.high) if interval else (rate or 0.0, rate or 0.0)
    cost = (point.cost_usd or 0.0) / dearest * COST_HEIGHT if dearest else 0.0
    height = None if rate is None else _height(rate)
    return ChartPoint(x, height, _height(low), _height(high), cost, point)


def _height(rate: float) -> float:
    return MARGIN + (1 - rate) * (HEIGHT - 2 * MARGIN)


PAGE = 50
"""Runs on one page of their list."""
POINTS = 250
"""Runs on one page of the trend of a model."""
CELLS = 500
"""Cells on one page of a run."""
MOST_ROWS = 1_000_000


def page_routes(store: Store) -> APIRouter:
    routes = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    _add_overviews(routes, store)
    _add_details(routes, store)
    return routes


def _add_overviews(routes: APIRouter, store: Store) -> None:
    @routes.get("/")
    def home(days: Days = 90) -> HTMLResponse:
        begin = since(days)
        with store.read() as connection:
            points = run_queries.trends(connection, begin, newest=MOST)
            known = run_queries.runs_of_models(connection, begin)
            arms = correction_queries.arms(connection, begin)
            runs = run_queries.runs(connection, limit=10)
        return page(
            "home.html.j2",
            "Overview",
            days=days,
            numbers=overview(store, begin),
            trends=trends_of(points, known),
            drawing=_DRAWING,
            arms=arms,
            runs=[run_shape(run) for run in runs],
        )

    @routes.get("/runs")
    def runs(offset: int = 0) -> HTMLResponse:
        offset = min(max(offset, 0), MOST_ROWS)
        with store.read() as connection:
            # One more than shown, to detect a next page.
            found = run_queries.runs(connection, limit=PAGE + 1, offset=offset)
        shown = [run_shape(run) for run in found[:PAGE]]
        more = offset + PAGE if len(found) > PAGE else None
        return page("runs.html.j2", "Runs", runs=shown, more=more)

    @routes.get("/trends")
    def trend(model: Name, days: Days = 90, offset: int = 0) -> HTMLResponse:
        offset = min(max(offset, 0), MOST_ROWS)
        begin = since(days)
        with store.read() as connection:
            # One more than shown, to detect a next page.
            found = run_queries.trend(
                connection, begin, clean(model), limit=POINTS + 1, offset=offset
            )
        more = offset + POINTS if len(found) > POINTS else None
        points = found[:POINTS]
        return page("trend.html.j2", model, model=model, days=days, points=points, more=more)


def _add_details(routes: APIRouter, store: Store) -> None:
    @routes.get("/runs/{run_id}")
    def run(run_id: Id, offset: int = 0) -> HTMLResponse:
        offset = min(max(offset, 0), MOST_ROWS)
        detail = run_detail(store, run_id, limit=CELLS, offset=offset)
        return page(
            "run.html.j2",
            f"Run {detail.run.ts}",
            run=detail.run,
            cells=detail.cells,
            offset=offset,
            step=CELLS,
        )

    @routes.get("/runs/{run_id}/report")
    def report(run_id: Id) -> FileResponse:
        with store.read() as connection:
            found = run_queries.run(connection, run_id)
        path = rest_api.report_page(found) if found else None
        if path is None:
            raise HTTPException(404, "the report of this run is not on this machine")
        return FileResponse(path, headers={"content-security-policy": rest_api.POLICY})

    @routes.get("/cells/{cell_id}")
    def cell(cell_id: Id) -> HTMLResponse:
        detail = cell_detail(store, cell_id)
        title = f"{detail.cell.case_id} on {detail.cell.model}"
        return page("cell.html.j2", title, detail=detail, cell=detail.cell)

    @routes.get("/tools/{name}")
    def tool(name: str) -> HTMLResponse:
        with store.read() as connection:
            found = call_queries.tool(connection, name)
        if found is None:
            raise HTTPException(404, "no record of such a tool")
        return page("tool.html.j2", name, tool=found)


def page(template: str, title: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page rendered from a template in `templates/dashboard`."""
    return HTMLResponse(_templates().get_template(template).render(title=title, **values), status)


@cache
def _templates() -> Environment:
    """Return the templates, kept because compiling them takes longer than most pages."""
    environment = Environment(
        loader=FileSystemLoader(asset_dir("templates") / "dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "arm_label": arm_label,
        "failure_name": failure_name,
        "percent": percent,
        "money": money,
        "duration": duration,
        "moment": moment,
        "segment": lambda text: quote(text, safe=""),
    }
    return environment


def percent(value: float | None) -> str:
    """Return a fraction as a percentage, or a dash for None."""
    return "–" if value is None else f"{value:.0%}" if value in (0, 1) else f"{value:.1%}"


def money(value: float | None, complete: bool = True) -> str:
    """Return an amount in US dollars, marked when it is unknown or only a lower bound."""
    if value is None or (value == 0 and not complete):
        return "unknown"
    return f"{'' if complete else '≥ '}${value:.4f}"


def duration(milliseconds: float | None) -> str:
    """Return a duration in milliseconds or seconds, or a dash for None."""
    if milliseconds is None:
        return "–"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def moment(value: dt.datetime) -> str:
    """Return a moment in UTC, to the minute."""
    return f"{value:%Y-%m-%d %H:%M} UTC"


def create_app(store: Store, *, token: str, hosts: Collection[str] = ("127.0.0.1",)) -> FastAPI:
    """Return the dashboard as an ASGI application.

    Args:
        store: the store that is shown.
        token: the secret that gives access.
        hosts: names and addresses under which the server is reached, without a port.
    """
    app = FastAPI(
        title="autoweb db serve",
        version=__version__,
        description="Results of pytest-autoweb runs in a store. Rates are fractions from 0 to 1.",
        # FastAPI's own pages for these load scripts from a third-party server; /docs below does
        # not.
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    # This only documents the token in OpenAPI: the guard checks it before any route is reached.
    bearer = Security(HTTPBearer(auto_error=False, description="The token printed at start."))
    needs = [bearer, Depends(only_known)]
    calibration = calibration_routes(store)
    for address, routes in ((CALIBRATION, calibration), ("", run_routes(store))):
        app.include_router(routes, prefix=address, dependencies=needs, responses=_PROBLEMS)
    app.include_router(
        calibration, prefix=CALIBRATION_BEFORE, dependencies=needs, include_in_schema=False
    )
    app.include_router(page_routes(store))
    app.add_api_route("/static/base.css", _look_of_reports, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=asset_dir("templates") / "dashboard" / "static"))

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return page("docs.html.j2", "REST", api=app.openapi())

    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(StoreError, _no_store)
    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_middleware(
        Guard, token=token, hosts=hosts, sign_in=lambda: page("sign_in.html.j2", "Sign in", 401)
    )
    return app


def _look_of_reports() -> FileResponse:
    return FileResponse(asset_dir("templates") / "report" / "base.css")


def _malformed(request: Request, error: Exception) -> Response:
    """Name the malformed field without repeating its value, which may be secret."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return _told(request, 422, f"{where}: {first['msg']}")


def _no_store(request: Request, error: Exception) -> Response:
    return _told(request, 503, str(error))


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    return _told(request, error.status_code, error.detail, error.headers)


def _told(request: Request, status: int, detail: str, headers: Any = None) -> Response:
    """Return an error response, as JSON for programs and as a page for people."""
    # Paths can hold lone surrogates, which cannot be encoded in a response.
    detail = detail.encode("utf-8", "replace").decode()
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": detail}, status, headers)
    return page("problem.html.j2", f"Error {status}", status, detail=detail)


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LEAST_TOKEN = 20
"""Minimum length of a token chosen by a person."""


def serve(store: Store, *, host: str, port: int, token: str, tell: Callable[[str], object]) -> None:
    """Serve the dashboard until SIGINT.

    Args:
        store: the store that is shown.
        host: the address to listen on.
        port: the port to listen on; 0 takes a free one.
        token: the secret that gives access; an empty one is replaced by a random one.
        tell: called with the address to open, including the token, once the port is open.

    Raises:
        SettingsError: the token is too short to be safe.
        AutowebError: the server cannot listen on the address.
    """
    if token and len(token) < LEAST_TOKEN:
        raise SettingsError(f"the token needs at least {LEAST_TOKEN} characters")
    token = token or secrets.token_urlsafe(32)
    # Opened here rather than by uvicorn, so that the port is known before serving and a failure
    # gives a one-sentence error.
    listener = _listen(host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}/"
    app = create_app(store, token=token, hosts={*LOOPBACK, name})
    config = uvicorn.Config(app, log_level="warning", server_header=False)
    # Browsers never send the part after `#`, so the token is not logged.
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
