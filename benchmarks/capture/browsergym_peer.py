"""List the tab as BrowserGym does, once for each line read: `browsergym_peer.py CDP_URL`."""

import json
import sys

import playwright.sync_api
from browsergym.core.observation import (  # type: ignore[import-not-found]
    _post_extract,
    _pre_extract,
    extract_dom_extra_properties,
    extract_dom_snapshot,
    extract_merged_axtree,
)
from browsergym.utils.obs import flatten_axtree_to_str  # type: ignore[import-not-found]

with playwright.sync_api.sync_playwright() as started:
    started.selectors.set_test_id_attribute("bid")
    page = started.chromium.connect_over_cdp(sys.argv[1]).contexts[0].pages[0]
    for _ in sys.stdin:
        _pre_extract(page, tags_to_mark="standard_html", lenient=True)
        extra = extract_dom_extra_properties(extract_dom_snapshot(page), scale_factor=1.0)
        tree = extract_merged_axtree(page)
        _post_extract(page)
        print(json.dumps({"listing": flatten_axtree_to_str(tree, extra)}), flush=True)
