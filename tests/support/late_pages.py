"""Waiting for what a page does beside the calls of a test."""

from collections.abc import Callable

from playwright.sync_api import Page


def wait_until(page: Page, holds: Callable[[], bool], seconds: float) -> None:
    """Wait, while the page goes on, until something holds or the seconds are over."""
    for _ in range(int(seconds * 20)):
        if holds():
            return
        page.wait_for_timeout(50)
