"""The parts of Python that generated code may use: syntax, builtins, modules, attribute names.

This is the only declaration. The lint refuses everything else before the code runs, and the worker
offers nothing else while it runs. The permitted parts of Playwright are in `allowed_members`.
"""

import ast
import collections
import csv
import datetime
import decimal
import io
import re
import types
import urllib.parse

from pytest_autoweb.sandbox.allowed_members import (
    CLASSES,
    FINDERS,
    FUNCTIONS,
    PAGE_FUNCTIONS,
    words,
)

MAX_SOURCE_CHARS = 20_000
MAX_NODES = 4_000
MAX_DEPTH = 60

GIVEN_NAMES = frozenset({"page", "expect", "answer", "log"})
"""Names that the step language provides; code may not rebind them."""

NODES: frozenset[type[ast.AST]] = frozenset(
    {
        # modules and statements
        ast.Module, ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Pass,
        ast.Assert, ast.Raise, ast.Return, ast.Break, ast.Continue, ast.If, ast.For, ast.While,
        ast.With, ast.withitem, ast.Try, ast.ExceptHandler, ast.FunctionDef, ast.Global,
        ast.Nonlocal, ast.Import, ast.ImportFrom, ast.alias, ast.ClassDef,
        # match and its patterns
        ast.Match, ast.match_case, ast.MatchValue, ast.MatchSingleton, ast.MatchSequence,
        ast.MatchMapping, ast.MatchStar, ast.MatchAs, ast.MatchOr, ast.MatchClass,
        # expressions
        ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.Constant,
        ast.JoinedStr, ast.FormattedValue, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Call,
        ast.keyword, ast.Lambda, ast.arguments, ast.arg, ast.IfExp, ast.NamedExpr, ast.BoolOp,
        ast.BinOp, ast.UnaryOp, ast.Compare, ast.ListComp, ast.SetComp, ast.DictComp,
        ast.GeneratorExp, ast.comprehension,
        # contexts and operators
        ast.Load, ast.Store, ast.Del, ast.And, ast.Or, ast.Not, ast.Invert, ast.UAdd, ast.USub,
        ast.Add, ast.Sub, ast.Mult, ast.MatMult, ast.Div, ast.Mod, ast.Pow, ast.LShift,
        ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd, ast.FloorDiv, ast.Eq, ast.NotEq, ast.Lt,
        ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn,
    }
)  # fmt: skip

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

# `type` and `print` are replaced by harmless functions of these names (in stand_ins.py).
# `BaseException` is missing because `Refused` is one, and code must not swallow it.
BUILTINS = words(
    "abs all any ascii bin bool bytes callable chr complex dict divmod enumerate "
    "filter float format frozenset hash hex int isinstance iter len list map max min "
    "next oct ord pow print range repr reversed round set slice sorted str sum tuple "
    "type zip ArithmeticError AssertionError AttributeError Exception IndexError "
    "KeyError LookupError NameError NotImplementedError OverflowError RecursionError "
    "RuntimeError StopIteration TimeoutError TypeError UnicodeError ValueError "
    "ZeroDivisionError False True None NotImplemented Ellipsis"
)

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

MODULES: dict[str, frozenset[str]] = {
    name: frozenset(members.split())
    for name, members in {
        "base64": "b64decode b64encode urlsafe_b64decode urlsafe_b64encode",
        "bisect": "bisect bisect_left bisect_right insort",
        "calendar": "day_abbr day_name isleap month_abbr month_name monthrange",
        "collections": "Counter OrderedDict defaultdict deque",
        "copy": "copy deepcopy",
        "csv": "DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL reader writer",
        "dataclasses": "asdict astuple dataclass field replace",
        "datetime": "UTC date datetime time timedelta timezone",
        "decimal": "Decimal InvalidOperation ROUND_HALF_EVEN ROUND_HALF_UP",
        "fractions": "Fraction",
        "functools": "cmp_to_key partial reduce",
        "heapq": "heapify heappop heappush nlargest nsmallest",
        "html": "escape unescape",
        "io": "StringIO",
        "itertools": "accumulate chain combinations count cycle dropwhile groupby islice pairwise "
        "permutations product repeat starmap takewhile zip_longest",
        "json": "JSONDecodeError dumps load loads",
        "math": "acos asin atan atan2 ceil comb copysign cos degrees dist e exp fabs factorial "
        "floor fmod fsum gcd hypot inf isclose isfinite isinf isnan isqrt lcm log log10 log2 "
        "nan pi pow prod radians sin sqrt tan tau trunc",
        "operator": "add eq ge gt itemgetter le lt mul ne neg sub truediv",
        "playwright": "sync_api",
        "playwright.sync_api": "BrowserContext ConsoleMessage Dialog Download Error FileChooser "
        "Frame FrameLocator Keyboard Locator Mouse Page Request Response TimeoutError expect",
        "random": "choice choices randint random randrange sample seed shuffle uniform",
        "re": "A ASCII DOTALL I IGNORECASE M MULTILINE Match Pattern S VERBOSE X compile error "
        "escape findall finditer fullmatch match search split sub subn",
        "statistics": "fmean mean median median_high median_low mode multimode pstdev stdev "
        "variance",
        "string": "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits "
        "printable punctuation whitespace",
        "textwrap": "dedent fill indent shorten wrap",
        "time": "monotonic perf_counter sleep strftime time",
        "typing": "Any Callable Dict Iterable Iterator List Literal Mapping Optional Sequence "
        "Set Tuple Union",
        "unicodedata": "category name normalize",
        "urllib": "parse",
        "urllib.parse": "parse_qs parse_qsl quote quote_plus unquote unquote_plus urlencode "
        "urljoin urlparse urlsplit urlunparse",
        "uuid": "uuid4",
    }.items()
}

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

# The types of values that code works with; it may use all of their public attributes.
_MATCHING_TYPES: tuple[type, ...] = (
    str, bytes, list, dict, set, frozenset, tuple, int, float, range,
    re.Pattern, re.Match, io.StringIO, decimal.Decimal,
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone,
    collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque,
    csv.DictReader, csv.DictWriter, urllib.parse.ParseResult, urllib.parse.SplitResult,
)  # fmt: skip

# Public attributes that give access to other attributes (`format`) or are useless here.
_UNSAFE_ATTRIBUTES = frozenset({"format", "format_map", "detach", "buffer"})

# Attributes of exceptions, UUIDs, csv writers and fractions, whose types are not listed above.
_MORE_ATTRIBUTES = words("args message stack hex writerow writerows line_num denominator")


def _public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


PLAYWRIGHT_ATTRIBUTES = frozenset(name for members in CLASSES.values() for name in members)
PYTHON_ATTRIBUTES = (
    frozenset(name for cls in _MATCHING_TYPES for name in _public(cls))
    | frozenset(name for members in MODULES.values() for name in members)
    | _MORE_ATTRIBUTES
) - _UNSAFE_ATTRIBUTES
MACHINERY = frozenset(
    name
    for cls in (type, property, str, *vars(types).values())
    if isinstance(cls, type)
    for name in _public(cls)
)
"""Attributes of Python's own machinery: generators, frames, code, classes, formats.

Code names the fields of its dataclasses freely, and may then read an attribute of that name from
any object. So no field may have one of these names: a generator's `gi_frame` would be a way out.
"""
ATTRIBUTES = PLAYWRIGHT_ATTRIBUTES | PYTHON_ATTRIBUTES
"""Every attribute name that code accepted by the lint may contain."""


def may_be_a_field(name: str) -> bool:
    """Tell whether code may give a field or a method of its dataclass this name."""
    return not name.startswith("_") and (name in ATTRIBUTES or name not in MACHINERY)


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
    "collect_urls": "only the strategies that collect offer it; read with locators",
    "show_more": "a method of the page, for listings of scripts by turns: page.show_more(2)",
}
"""Names that only some cells offer, with a hint for other cells."""
assert OFFERED_WHEN.keys() == FINDERS.keys() | FUNCTIONS.keys() | PAGE_FUNCTIONS.keys()

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
