"""What only some sessions need, from packages that come with an extra or take long to import.

A store, a cache at a URL, spans, a cluster, and xdist's controller. Each function imports what it
needs when it is called, so that no other module of a session has to.
"""

# Late imports: what they lead to may not be installed, or takes long.

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_autoweb.agents.correction.call_cache import Cache
from pytest_autoweb.agents.correction.retry_decision import CORRECTIONS_COUNTED, PastCorrections
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import extra_of_store, require_extras
from pytest_autoweb.results.records import RunInfo
from pytest_autoweb.session.shared_run import SharedRun
from pytest_autoweb.session.xdist_internals import can_replace_controller, can_schedule
from pytest_autoweb.settings.run_settings import Settings

if TYPE_CHECKING:
    from pytest_autoweb.session.cluster.ray_cluster import RayCluster
    from pytest_autoweb.session.cluster.remote_session import RemoteSession
    from pytest_autoweb.session.run_session import RunSession


def check_places(settings: Settings) -> None:
    """Check the URLs of store and cache before the run costs anything, without connecting.

    Raises:
        SettingsError: a URL is invalid, or a package is missing.
    """
    if "://" in settings.cache:
        open_cache(settings.cache, settings.rootdir).close()
    if settings.otel:
        require_extras("otel")
    if settings.database:
        require_extras(extra_of_store(settings.database))
        from pytest_autoweb.store.database import read_address

        read_address(settings.database, base=settings.rootdir)


def open_cache(url: str, rootdir: Path) -> Cache:
    """Open the cache at a URL.

    Raises:
        SettingsError: the URL is invalid, or a package is missing.
    """
    from pytest_autoweb.store.redis_cache import SCHEMES, open_redis_cache

    if url.startswith(SCHEMES):
        return open_redis_cache(url)
    require_extras(extra_of_store(url))
    from pytest_autoweb.store.session_hooks import open_store_cache

    return open_store_cache(url, base=rootdir)


def past_corrections(settings: Settings, model: str, arm: str) -> PastCorrections:
    """Return how often a way to retry has helped a model, as far as the store knows."""
    from pytest_autoweb.store.session_hooks import corrections_so_far

    return corrections_so_far(settings.database, settings.rootdir, model, arm, CORRECTIONS_COUNTED)


def mistaken_kinds(settings: Settings, model: str) -> dict[str, tuple[int, int]]:
    """Return a model's error counts for each kind of element, as far as the store knows."""
    from pytest_autoweb.agents.choice.feedback import CHOICES_COUNTED
    from pytest_autoweb.store import session_hooks

    return session_hooks.mistaken_kinds(settings.database, settings.rootdir, model, CHOICES_COUNTED)


def store_run(settings: Settings, folder: Path) -> str:
    """Copy a run into its database, and return one sentence on the result."""
    from pytest_autoweb.store.session_hooks import store_at_end

    return store_at_end(settings.database, settings.rootdir, folder)


def send_spans(folder: Path, info: RunInfo) -> str:
    """Send a run as spans of OpenTelemetry, and return one sentence on the result."""
    from pytest_autoweb.report import otel_spans

    return otel_spans.send_spans(folder, info)


def use_cluster(config: pytest.Config) -> None:
    """Replace xdist's controller with one whose workers are on the nodes of a cluster.

    Raises:
        SettingsError: a package is missing, xdist has changed, or another flag is not possible with
            a cluster.
    """
    require_extras("cluster")
    if not can_replace_controller():
        raise SettingsError(
            "--autoweb-cluster replaces a part of pytest-xdist that this version does not have any "
            "more; update pytest-autoweb, or install the xdist that it was tested with"
        )
    from pytest_autoweb.session.cluster import cluster_session

    cluster_session.use_cluster(config)


def open_cluster(config: pytest.Config, settings: Settings, run: "RunSession") -> "RayCluster":
    """Connect to the cluster that the settings name.

    Raises:
        SettingsError: it cannot be reached, or has no room.
    """
    from pytest_autoweb.session.cluster import cluster_session

    return cluster_session.open_cluster(config, settings, run)


def session_at_home(shared: SharedRun) -> "RemoteSession":
    """Return the session's machine, as seen by a test process on a node of a cluster."""
    from pytest_autoweb.session.cluster.remote_session import RemoteSession

    return RemoteSession(Path(shared.session_folder), Path(shared.run_folder))


def make_scheduler(
    config: pytest.Config,
    log: Any,
    most: Callable[[], int],
    *,
    on_cluster: bool,
    order: Callable[[list[str]], list[str]] | None = None,
) -> Any:
    """Return xdist's scheduler for workers with cells in flight; None if this xdist has changed.

    Args:
        config: the controller's.
        log: xdist's.
        most: returns the limit on cells in flight in each worker, which an order may change.
        on_cluster: whether the workers are on the nodes of a cluster.
        order: puts the ids of items in order; None leaves them as they were collected.
    """
    if on_cluster:
        from pytest_autoweb.session.cluster.cluster_session import ClusterScheduling

        return ClusterScheduling(config, log, most)
    if not can_schedule():
        return None
    from pytest_autoweb.session.flights.flight_scheduling import FlightScheduling

    return FlightScheduling(config, log, most, order)
