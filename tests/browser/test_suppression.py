"""A request that is answered as if it had been sent, and reaches no server."""

from typing import Any

import pytest
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.browser.egress.guarded_page import guarded_page
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.suppression import SuppressedRequest, Suppression
from pytest_autoweb.judging.evidence.requests_log import WireRecord

POST = """async (body) => {
  const reply = await fetch('/orders?page=2', {method: 'POST', body});
  return [reply.status, await reply.text()];
}"""
SENT = "x" * 300_000
"""More than sockets hold, so that an answer before the end would break the connection."""


@pytest.mark.parametrize("remote", [False, True], ids=["proxy", "browser"])
def test_the_second_post_alone_is_answered_and_not_sent_and_counts_for_no_check(
    cell_browser: Browser, site: Site, remote: bool
) -> None:
    site.put("/orders?page=2", "sold out", status=409)
    site.put("/", "<h1>Shop</h1>")
    suppression = Suppression(
        SuppressedRequest(
            method="POST",
            url="http://127.0.0.1:1/orders?page=1",
            nth=2,
            status=201,
            headers={"content-type": "text/plain", "content-length": "7", "set-cookie": "a=b"},
            body="ordered at http://127.0.0.1:1/",
        )
    )
    wire = WireRecord(suppressed=suppression)

    def open_page(args: dict[str, Any]) -> Page:
        return cell_browser.new_context(**args).new_page()

    policy = OriginPolicy(site.url, ())
    with guarded_page(open_page, {}, policy, print, remote=remote, suppression=suppression) as page:
        page.goto(site.url)
        wire.start(page.context)
        early = page.evaluate(POST, "")
        wire.counting = True
        answers = [page.evaluate(POST, SENT) for _ in range(3)]
        wire.stop()
        page.context.close()

    sold_out = [409, "sold out"]
    assert [early, *answers] == [sold_out, sold_out, [201, f"ordered at {site.url}"], sold_out]
    assert site.hits.count("/orders?page=2") == 3
    assert [entry.counted for entry in wire] == [False, True, False, True]
