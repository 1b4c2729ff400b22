"""The list of allowed members against the installed Playwright."""

import inspect

import playwright.sync_api._generated as generated
from playwright.sync_api import Frame

from pytest_autoweb.sandbox.allowed_members import CLASSES, OF_THE_PAGE
from pytest_autoweb.sandbox.refusal_hints import REFUSED_MEMBERS, REFUSED_OF

pytest_plugins = ["sandbox_shop"]


def test_every_member_of_the_page_is_the_pages_or_the_frames() -> None:
    assert set(CLASSES["Page"]) - OF_THE_PAGE <= set(CLASSES["Frame"])
    assert all(hasattr(Frame, name) for name in set(CLASSES["Page"]) - OF_THE_PAGE)


def test_the_allow_list_fits_the_installed_playwright() -> None:
    made_here = {"EventInfo"}
    for name, members in CLASSES.items():
        if name in made_here:
            continue
        real = getattr(generated, name)
        for method, member in members.items():
            if member.kind in {"local", "listen"}:
                continue
            found = inspect.getattr_static(real, method)
            is_property = isinstance(found, property)
            assert is_property == (member.kind in {"link", "get"}), f"{name}.{method}"
            if not is_property:
                takes = "timeout" in inspect.signature(found).parameters
                wanted = member.timeout or method.startswith(("set_default", "wait_for_timeout"))
                assert takes == wanted, f"{name}.{method}"


def test_every_public_member_of_the_allowed_classes_is_allowed_or_refused_with_a_hint() -> None:
    for name, members in CLASSES.items():
        if name in {"EventInfo", "BrowserContext"}:
            continue
        public = {m for m in dir(getattr(generated, name)) if not m.startswith("_")}
        listeners = {"on", "once", "remove_listener"}
        unclassified = public - set(members) - set(REFUSED_MEMBERS) - listeners
        assert {m for m in unclassified if (name, m) not in REFUSED_OF} == set(), name
