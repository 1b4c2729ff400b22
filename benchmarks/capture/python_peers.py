"""List pages as BrowserGym or browser-use does; run by `capture.py` with the peer's own Python.

PYTHON capture_peers.py browsergym|browser-use CDP_URL BEGIN < addresses.json > listings.json
"""

import asyncio
import json
import sys
import time
from typing import Any


def browsergym(cdp_url: str, begin: str, addresses: list[str]) -> dict[str, Any]:
    """Return for each address what `flatten_axtree_to_str` gives with its defaults."""
    # Late: each peer has an environment of its own, without the other.
    import playwright.sync_api
    from browsergym.core.observation import (  # type: ignore[import-not-found]
        _post_extract,
        _pre_extract,
        extract_dom_extra_properties,
        extract_dom_snapshot,
        extract_merged_axtree,
    )
    from browsergym.utils.obs import flatten_axtree_to_str  # type: ignore[import-not-found]

    found: dict[str, Any] = {}
    with playwright.sync_api.sync_playwright() as started:
        started.selectors.set_test_id_attribute("bid")
        context = started.chromium.connect_over_cdp(cdp_url).contexts[0]
        page = context.new_page()
        for address in addresses:
            page.goto(address)
            page.evaluate(begin)
            page.wait_for_timeout(700)
            began = time.perf_counter()
            _pre_extract(page, tags_to_mark="standard_html", lenient=True)
            extra = extract_dom_extra_properties(extract_dom_snapshot(page), scale_factor=1.0)
            tree = extract_merged_axtree(page)
            _post_extract(page)
            text = flatten_axtree_to_str(tree, extra)
            found[address] = {"text": text, "seconds": time.perf_counter() - began}
        page.close()
    return found


async def browser_use(cdp_url: str, begin: str, addresses: list[str]) -> dict[str, Any]:
    """Return for each address what the serializer gives to the model."""
    # Late: each peer has an environment of its own, without the other.
    from browser_use import BrowserSession  # type: ignore[import-not-found]

    session = BrowserSession(cdp_url=cdp_url)
    await session.start()
    found: dict[str, Any] = {}
    for address in addresses:
        await session.navigate_to(address)
        page = await session.must_get_current_page()
        await page.evaluate(begin)
        await asyncio.sleep(1)
        began = time.perf_counter()
        state = await session.get_browser_state_summary(include_screenshot=False)
        text = state.dom_state.llm_representation()
        found[address] = {"text": text, "seconds": time.perf_counter() - began}
    await session.stop()
    return found


if __name__ == "__main__":
    peer, cdp, begin = sys.argv[1:]
    wanted = json.load(sys.stdin)
    made = (
        browsergym(cdp, begin, wanted)
        if peer == "browsergym"
        else asyncio.run(browser_use(cdp, begin, wanted))
    )
    print("\nLISTINGS " + json.dumps(made))
