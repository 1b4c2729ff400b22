"""What this package uses of pytest-xdist that has no public name, and whether it is still there.

Workers keep the items that they were sent in a queue. The classes of the controller are extended in
`flight_scheduling` and `cluster_session`; what those need of them stands here as well. Where a name
is gone, cells run one at a time in each worker, as the session's header then says.
"""

from functools import cache
from typing import Any

import pytest

# Late imports: the controller's modules take 60 ms, and a session without workers needs none.

_QUEUE, _NEXT = "torun", "nextitem_index"
_SCHEDULING = {"nodes", "pending", "node2pending", "schedule", "check_schedule", "_send_tests"}
_SESSION = {
    "_active_nodes",
    "_clone_node",
    "_session",
    "handle_crashitem",
    "queue",
    "report_line",
    "sched",
    "shouldstop",
    "shuttingdown",
    "triggershutdown",
    "worker_errordown",
    "worker_internal_error",
    "worker_workerfinished",
}


class SentItems:
    """The items that a worker was sent, as indices of its session's items.

    The item that runs is in no list any more, the one after it stands apart, and all further ones
    are in a queue.

    Args:
        worker: xdist's plugin in a worker.
    """

    def __init__(self, worker: Any) -> None:
        self._worker = worker

    def coming(self) -> list[object]:
        """Return the indices of the items that come next.

        Whatever is no number says that nothing comes after it.
        """
        return [getattr(self._worker, _NEXT), *self._queued()]

    def _queued(self) -> list[object]:
        """Return what is in the queue, without taking it out."""
        queue = getattr(self._worker, _QUEUE)
        if hasattr(queue, "lock"):
            with queue.lock() as items:
                return list(items)
        # A `queue.Queue` before xdist 3.7.
        with queue.mutex:
            return list(queue.queue)


def sent_items(config: pytest.Config) -> SentItems | None:
    """Return the items sent to this process; None unless it is a worker of xdist."""
    plugins = config.pluginmanager.get_plugins()
    found = (one for one in plugins if hasattr(one, _QUEUE) and hasattr(one, _NEXT))
    return next(map(SentItems, found), None)


def hides_order(config: pytest.Config) -> bool:
    """Tell whether this process is a worker that cannot know which items come next."""
    return hasattr(config, "workerinput") and sent_items(config) is None


@cache
def can_see_queues() -> bool:
    """Tell, in the controller, whether workers will know which items come next."""
    from xdist.remote import WorkerInteractor  # type: ignore[import-untyped]

    return not {_QUEUE, _NEXT} - _names_of(WorkerInteractor)


@cache
def can_schedule() -> bool:
    """Tell, in the controller, whether workers can be sent more items than xdist would send."""
    from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]

    return not _SCHEDULING - _names_of(LoadScheduling)


@cache
def can_replace_controller() -> bool:
    """Tell whether the controller can be replaced by that of a session on a cluster."""
    try:
        from xdist import dsession, workermanage  # type: ignore[import-untyped]
    except ImportError:
        return False
    classes = hasattr(workermanage, "NodeManager") and hasattr(workermanage, "WorkerController")
    reports = hasattr(dsession, "TerminalDistReporter")
    return classes and reports and can_schedule() and not _SESSION - _names_of(dsession.DSession)


def _names_of(kind: Any) -> set[str]:
    """Return the names of a class, and those that its objects get when they are made."""
    return {*dir(kind), *kind.__init__.__code__.co_names, *getattr(kind, "__annotations__", {})}
