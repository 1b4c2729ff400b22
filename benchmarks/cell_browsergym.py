"""Do the episodes of `cell.py` in BrowserGym; run by it with an environment of BrowserGym's own.

PYTHON cell_browsergym.py HTML CHROMIUM [SLOW_MO_MS PRE_OBSERVATION_DELAY_S] < seeds > milliseconds

For each seed that it reads it writes how long `reset` and one `step` took: they set the episode up,
observe it, click the button that the goal names, observe again and ask for the reward. BrowserGym
closes the browser of an episode at the beginning of the next and starts another.
"""

import functools
import http.server
import re
import sys
import threading
import time
from typing import Any


class Pages(http.server.SimpleHTTPRequestHandler):
    """The folder of the pages, without a word about each request."""

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


def environment(html: str, chromium: str, pauses: list[str]) -> Any:
    """Return BrowserGym's environment of click-button, with its own pauses unless told others."""
    # Late: BrowserGym is not among the packages of this project.
    import browsergym.miniwob  # type: ignore[import-not-found]  # noqa: F401
    import gymnasium
    from playwright.sync_api import BrowserType

    # BrowserGym has a second browser for its chat, whose settings cannot be given.
    launch = BrowserType.launch
    BrowserType.launch = functools.partialmethod(  # type: ignore[method-assign, assignment]
        launch, executable_path=chromium
    )
    handler = functools.partial(Pages, directory=html)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings: dict[str, Any] = {
        "task_kwargs": {"base_url": f"http://127.0.0.1:{server.server_address[1]}/miniwob/"},
        "action_mapping": None,
    }
    if pauses:
        slow_mo, delay = pauses
        settings |= {"slow_mo": float(slow_mo), "pre_observation_delay": float(delay)}
    return gymnasium.make("browsergym/miniwob.click-button", disable_env_checker=True, **settings)


def episode(env: Any, seed: int) -> float:
    """Return the seconds of one episode."""
    began = time.perf_counter()
    seen, _ = env.reset(seed=seed)
    wanted = re.search(r'"(.+)"', seen["goal"])
    assert wanted
    click = f"page.get_by_role('button', name={wanted[1]!r}, exact=True).first.click()"
    _, reward, *_ = env.step(click)
    took = time.perf_counter() - began
    if reward <= 0:
        raise SystemExit(f"click-button with seed {seed}: no reward")
    return took


def main() -> None:
    """Answer each seed with the time of its episode."""
    html, chromium, *pauses = sys.argv[1:]
    env = environment(html, chromium, pauses)
    for line in sys.stdin:
        print(round(episode(env, int(line)) * 1000, 1), flush=True)


if __name__ == "__main__":
    main()
