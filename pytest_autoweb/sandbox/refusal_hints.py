"""What models write although it is not allowed, and what is said in its place.

These tables allow and forbid nothing: whatever is not declared in `allowed_python` and
`allowed_members` is refused, listed here or not. They only make the message say what to write.
"""

import ast

from pytest_autoweb.sandbox.allowed_members import (
    FINDERS,
    FUNCTIONS,
    LOOKS,
    PAGE_FUNCTIONS,
    words,
)

REFUSED_NODES: dict[type[ast.AST], tuple[str, str, str]] = {
    ast.AsyncFunctionDef: ("AW203", "async code", "the page is synchronous: drop async and await"),
    ast.AsyncFor: ("AW203", "async code", "the page is synchronous: drop async and await"),
    ast.AsyncWith: ("AW203", "async code", "the page is synchronous: drop async and await"),
    ast.Await: ("AW203", "async code", "the page is synchronous: drop async and await"),
    ast.Yield: ("AW204", "a generator function", "build a list and return it"),
    ast.YieldFrom: ("AW204", "a generator function", "build a list and return it"),
    ast.TryStar: ("AW205", "except*", "use except"),
}
"""Rule, message and hint for refused syntax that models actually write."""

REFUSED_BUILTINS: dict[str, str] = {
    "input": "there is no user to type; use the values of the task",
    "exit": "just let the code end",
    "quit": "just let the code end",
    "eval": "write the expression itself",
    "exec": "write the statements themselves",
    "compile": "write the statements themselves",
    "getattr": "write the attribute's name: x.name",
    "setattr": "keep values in variables or a dict",
    "delattr": "keep values in variables or a dict",
    "hasattr": "use isinstance, or a dict and `in`",
    "globals": "name the variable itself",
    "locals": "name the variable itself",
    "vars": "name the variable itself",
    "dir": "name the member itself",
    "object": "use a dict",
    "super": "a dataclass has no bases here",
    "property": "write it as @property in a dataclass",
    "classmethod": "use a function",
    "staticmethod": "use a function",
    "memoryview": "use bytes",
    "bytearray": "use bytes",
    "breakpoint": "use log(text)",
    "help": "use log(text)",
    "id": "compare with `is` or `==`",
    "BaseException": "use Exception",
    "SystemExit": "just let the code end",
    "KeyboardInterrupt": "use Exception",
    "GeneratorExit": "use Exception",
    "OSError": "use Exception",
    "IOError": "use Exception",
}  # fmt: skip

BOILERPLATE_NAMES: dict[str, str] = {
    "browser": "the browser is already open: use the given `page`",
    "context": "the page is already open: use the given `page`",
    "playwright": "the page is already open: use the given `page`",
    "sync_playwright": "the page is already open: use the given `page`",
    "async_playwright": "the page is already open: use the given `page`",
    "driver": "there is no Selenium here: use the given `page`",
    "webdriver": "there is no Selenium here: use the given `page`",
    "asyncio": "the page is synchronous: use the given `page` directly",
}
"""Names that models use unasked; a finding unless the code binds them itself."""

REFUSED_MODULES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("os", "sys", "shutil", "glob", "tempfile", "subprocess", "logging", "signal"),
        ("AW101", "files, processes and the environment are out of reach; use `page` and log()"),
    ),
    "pathlib": ("AW101", "a download is read with open(download.path())"),
    **dict.fromkeys(
        ("requests", "httpx", "urllib.request", "urllib3", "aiohttp", "socket", "http"),
        ("AW101", "only the browser talks to the network: use page.goto(url)"),
    ),
    **dict.fromkeys(
        ("selenium", "asyncio", "playwright.async_api", "pyppeteer", "pytest", "unittest"),
        ("AW104", "the page is already open: use the given `page` (Playwright's sync API)"),
    ),
    **dict.fromkeys(
        ("threading", "multiprocessing", "concurrent", "concurrent.futures"),
        ("AW101", "there is only one thread: use a plain loop"),
    ),
    **dict.fromkeys(
        ("bs4", "lxml", "pandas", "numpy"),
        ("AW101", "read the page with locators: page.locator(…).all_inner_texts()"),
    ),
}


_GIVEN_PAGE = "the page is already open: use the given `page`"
_FIXED_NETWORK = "what the browser may load is set by the case, not by its code"
_NO_HANDLES = "use a locator, it does the same"
_HARNESS = "the test run takes care of it"
_SPEECH = "take it from the page with a locator"

REFUSED_MEMBERS: dict[str, str] = {
    **dict.fromkeys(
        words(
        "launch launch_persistent_context connect connect_over_cdp chromium firefox "
        "webkit new_context browser contexts browser_type start stop"
    ),
        _GIVEN_PAGE,
    ),
    **dict.fromkeys(
        words(
        "route unroute unroute_all route_from_har route_web_socket set_extra_http_headers "
        "request_gc add_cookies clear_cookies cookies storage_state set_storage_state "
        "grant_permissions set_offline workers expect_worker expect_websocket webmcp "
        "local_storage session_storage all_headers header_value header_values "
        "headers_array server_addr security_details sizes timing http_version "
        "from_service_worker service_worker redirected_from redirected_to "
        "existing_response post_data_buffer"
    ),
        _FIXED_NETWORK,
    ),
    **dict.fromkeys(
        words(
        "element_handle element_handles evaluate_handle frame_element as_element element "
        "json_value dispose args"
    ),
        _NO_HANDLES,
    ),
    **dict.fromkeys(
        words(
        "pause pdf video tracing screencast clock "
        "expose_function expose_binding new_cdp_session "
        "add_init_script add_script_tag add_style_tag set_content highlight "
        "hide_highlight pick_locator cancel_pick_locator touchscreen worker timestamp "
        "delete describe description"
    ),
        _HARNESS,
    ),
    **dict.fromkeys(
        words(
        "console_messages page_errors requests clear_console_messages clear_page_errors "
        "get_by_ref normalize visible within drop"
    ),
        _SPEECH,
    ),
    "set_options": "give a timeout to the assertion: expect(x).to_be_visible(timeout=5000)",
    "quit": _GIVEN_PAGE,
}  # fmt: skip
"""Public members of Playwright that generated code may not use, each with an alternative."""

REFUSED_OF: dict[tuple[str | None, str], str] = {
    ("BrowserContext", "close"): _HARNESS,
    **dict.fromkeys(
        [("PageAssertions", f"{no}to_match_aria_snapshot") for no in ("", "not_")],
        "use a locator: expect(page.locator('body')).to_match_aria_snapshot(…)",
    ),
    ("Locator", "wait_for_function"): "use expect(locator) or page.wait_for_function(…)",
}
"""Members refused for one class while another class has an allowed member of that name."""

OFFERED_WHEN: dict[str, str] = {
    "get_by_mark": "elements have numbers only where the strategy shows a numbered picture",
    "get_by_sight": "it takes a model that sees pictures; use a locator",
    "look": "it takes a model that sees pictures, and turns; read with locators and log()",
    "call_tool": "only the agent webmcp calls the tools of a page; use locators",
    "collect_urls": "only the strategies that collect offer it; read with locators",
    "show_more": "a method of the page, for listings of scripts by turns: page.show_more(2)",
}
"""Names that only some cells offer, with a hint for other cells."""
assert OFFERED_WHEN.keys() == {*FINDERS, *FUNCTIONS, *LOOKS, *PAGE_FUNCTIONS}

SYNONYMS: dict[str, str] = {
    "find_element": "locator",
    "find_elements": "locator",
    "find_element_by_id": "locator",
    "find_element_by_name": "locator",
    "find_element_by_xpath": "locator",
    "find_element_by_css_selector": "locator",
    "find_element_by_class_name": "locator",
    "find": "locator",
    "xpath": "locator",
    "get": "goto",
    "navigate": "goto",
    "open": "goto",
    "visit": "goto",
    "send_keys": "fill",
    "set_value": "fill",
    "enter_text": "fill",
    "submit": "press",
    "get_text": "inner_text",
    "is_displayed": "is_visible",
    "is_selected": "is_checked",
    "current_url": "url",
    "page_source": "content",
    "execute_script": "evaluate",
    "select_by_visible_text": "select_option",
    "select_by_value": "select_option",
    "wait": "wait_for_timeout",
    "sleep": "wait_for_timeout",
    "back": "go_back",
    "refresh": "reload",
}
"""Names that other libraries use, with Playwright's name for the same thing."""
