"""The allow-list of Playwright members for generated code, with the nature of each member.

This table is the border: the lint takes attribute names from it, the worker builds its proxies
from it, and the host performs nothing that is not in it. It also runs inside the worker, so it
imports only the standard library.
"""

from typing import Literal, NamedTuple

Kind = Literal["chain", "link", "local", "call", "get", "manage", "listen", "find", "function"]
"""`chain`: a method that narrows a locator, done in the worker without a message; `link`: a
property that does the same; `local`: a method that the worker builds from other members; `call`: a
method performed by the host; `get`: a property read by the host; `manage`: `with page.expect_…()`;
`listen`: `on`, `once`, `remove_listener`; `find` and `function`: not members of Playwright, but
offered by the host in this cell."""


class ApiMember(NamedTuple):
    """One member of a Playwright class."""

    kind: Kind
    returns: str = ""
    """Class of the result of a chain or link."""
    acting: bool = False
    """Whether the call may change the page."""
    timeout: bool = False
    """Whether the call takes a `timeout` argument."""


Members = dict[str, ApiMember]


def words(text: str) -> frozenset[str]:
    """Split a text into words, so that long lists can be written as text."""
    return frozenset(text.split())


def _links(returns: str, names: str) -> Members:
    return {name: ApiMember("link", returns) for name in names.split()}


def _chains(returns: str, names: str) -> Members:
    return {name: ApiMember("chain", returns) for name in names.split()}


def _acts(names: str, *, timeout: bool = True) -> Members:
    return {name: ApiMember("call", acting=True, timeout=timeout) for name in names.split()}


def _reads(names: str, *, timeout: bool = False) -> Members:
    return {name: ApiMember("call", timeout=timeout) for name in names.split()}


def _gets(names: str) -> Members:
    return {name: ApiMember("get") for name in names.split()}


def _manages(names: str) -> Members:
    return {name: ApiMember("manage", "EventInfo", timeout=True) for name in names.split()}


_FINDERS = _chains(
    "Locator",
    "locator get_by_role get_by_text get_by_label get_by_placeholder get_by_alt_text "
    "get_by_title get_by_test_id",
) | _chains("FrameLocator", "frame_locator")

_LISTEN: Members = {name: ApiMember("listen") for name in ("on", "once", "remove_listener")}

_SELECTOR_ACTIONS = (
    "check click dblclick dispatch_event drag_and_drop fill focus hover press select_option "
    "set_checked set_input_files tap type uncheck"
)
_SELECTOR_READS = (
    "get_attribute inner_html inner_text input_value is_checked is_disabled is_editable "
    "is_enabled text_content wait_for_function wait_for_load_state wait_for_timeout wait_for_url"
)
_EVALUATE = _acts("evaluate eval_on_selector eval_on_selector_all", timeout=False)
# Members answered with locators, because element handles do not cross the border.
_QUERY: Members = {
    name: ApiMember("local")
    for name in ("query_selector", "query_selector_all", "wait_for_selector")
}

_PAGE: Members = {
    **_FINDERS,
    **_EVALUATE,
    **_QUERY,
    **_links("Keyboard", "keyboard"),
    **_links("Mouse", "mouse"),
    **_links("BrowserContext", "context"),
    **_links("APIRequestContext", "request"),
    **_acts(_SELECTOR_ACTIONS + " goto reload go_back go_forward"),
    **_acts("bring_to_front close set_viewport_size emulate_media", timeout=False),
    **_reads(
        _SELECTOR_READS + " is_hidden is_visible screenshot aria_snapshot wait_for_event",
        timeout=True,
    ),
    **_reads("title content is_closed frame opener"),
    **_reads("set_default_timeout set_default_navigation_timeout"),
    **_gets("url frames main_frame viewport_size"),
    **_manages(
        "expect_popup expect_download expect_event expect_file_chooser expect_navigation "
        "expect_request expect_request_finished expect_response expect_console_message"
    ),
    **_LISTEN,
    **{name: ApiMember("listen") for name in ("add_locator_handler", "remove_locator_handler")},
}

_FRAME: Members = {
    **_FINDERS,
    **_EVALUATE,
    **_QUERY,
    **_acts(_SELECTOR_ACTIONS + " goto"),
    **_reads(_SELECTOR_READS, timeout=True),
    **_reads("title content is_detached is_hidden is_visible"),
    **_gets("url name page parent_frame child_frames"),
    **_manages("expect_navigation"),
}

_LOCATOR: Members = {
    **_FINDERS,
    **_chains("Locator", "filter nth and_ or_"),
    **_links("Locator", "first last"),
    **_links("FrameLocator", "content_frame"),
    **_QUERY,
    **_acts(
        "blur check clear click dblclick dispatch_event drag_to fill focus hover press "
        "press_sequentially select_option select_text set_checked set_input_files tap type "
        "uncheck evaluate"
    ),
    **_acts("evaluate_all", timeout=False),
    **_reads(
        "aria_snapshot bounding_box get_attribute inner_html inner_text input_value is_checked "
        "is_disabled is_editable is_enabled is_hidden is_visible screenshot "
        "scroll_into_view_if_needed text_content wait_for",
        timeout=True,
    ),
    "all": ApiMember("local"),
    **_reads("all_inner_texts all_text_contents count"),
    **_gets("page"),
}

_LOCATOR_CLAIMS = (
    "to_be_attached to_be_checked to_be_disabled to_be_editable to_be_empty to_be_enabled "
    "to_be_focused to_be_hidden to_be_in_viewport to_be_visible to_contain_class "
    "to_contain_text to_have_accessible_description to_have_accessible_error_message "
    "to_have_accessible_name to_have_attribute to_have_class to_have_count to_have_css "
    "to_have_id to_have_js_property to_have_role to_have_text to_have_value to_have_values "
    "to_match_aria_snapshot"
)
_PAGE_CLAIMS = "to_have_title to_have_url"


def _claims(names: str) -> Members:
    # Playwright puts the negation into the name: `not_to_be_visible` next to `to_be_visible`.
    both = [form for name in names.split() for form in (name, f"not_{name}")]
    return {name: ApiMember("call", timeout=True) for name in both}


CLASSES: dict[str, Members] = {
    "Page": _PAGE,
    "Frame": _FRAME,
    "Locator": _LOCATOR,
    "FrameLocator": {
        **_FINDERS,
        **_chains("FrameLocator", "nth"),
        **_links("FrameLocator", "first last"),
        **_links("Locator", "owner"),
    },
    "Keyboard": _acts("down insert_text press type up", timeout=False),
    "Mouse": _acts("click dblclick down move up wheel", timeout=False),
    "Dialog": {
        **_acts("accept dismiss", timeout=False),
        **_gets("message type default_value page"),
    },
    "Download": {**_reads("save_as path failure cancel"), **_gets("suggested_filename url page")},
    "ConsoleMessage": _gets("text type location page"),
    "Request": {
        **_reads("is_navigation_request response"),
        **_gets("url method headers post_data post_data_json resource_type failure frame"),
    },
    "Response": {
        **_reads("body finished json text"),
        **_gets("url status status_text ok headers request frame"),
    },
    "FileChooser": {**_acts("set_files"), **_reads("is_multiple"), **_gets("page")},
    "APIRequestContext": _acts("delete fetch get head patch post put"),
    "APIResponse": {**_reads("body json text"), **_gets("url status status_text ok headers")},
    "BrowserContext": {
        **_links("APIRequestContext", "request"),
        **_acts("new_page", timeout=False),
        **_reads("set_default_timeout set_default_navigation_timeout"),
        **_gets("pages"),
        **_manages("expect_page"),
    },
    "EventInfo": {**_reads("is_done"), **_gets("value")},
    "LocatorAssertions": _claims(_LOCATOR_CLAIMS),
    "PageAssertions": _claims(_PAGE_CLAIMS),
}

CLAIMS_OF = {"Page": "PageAssertions", "Locator": "LocatorAssertions"}
"""Class of the result of `expect(x)`, by the class of `x`."""

FINDERS: Members = {name: ApiMember("find", "Locator") for name in ("get_by_mark", "get_by_sight")}
"""Methods of `FINDER_OWNERS` that a cell may offer (`SandboxBorder.finders`)."""

FINDER_OWNERS = frozenset({"Page", "Frame", "Locator"})

FUNCTIONS: Members = {"collect_urls": ApiMember("function", acting=True)}
"""Global functions that a cell may offer (`SandboxBorder.functions`)."""

PAGE_FUNCTIONS: Members = {
    name: ApiMember("function", acting=True) for name in ("call_tool", "show_more")
}
"""Methods of `Page` that are not Playwright's (`SandboxBorder.functions`)."""

LOOKS: Members = {"look": ApiMember("function", acting=True)}
"""Methods of `FINDER_OWNERS` that are not Playwright's either, and are given the object they are
called on (`SandboxBorder.functions`)."""

OF_RECEIVER = frozenset({*LOOKS, "call_tool"})
"""Functions of the cell that are given the object they are called on."""
TELLING = frozenset({"call_tool"})
"""Methods that act and whose result is recorded all the same."""


def member_of(kind: str, name: str) -> ApiMember | None:
    """Return a member of a class, including members that only some cells offer."""
    finder = {**FINDERS, **LOOKS}.get(name) if kind in FINDER_OWNERS else None
    own = PAGE_FUNCTIONS.get(name) if kind == "Page" else None
    return finder or own or CLASSES.get(kind, {}).get(name)


MANAGER_EXIT = "$exit"
"""Message that ends a `with page.expect_…()`; because it is not an identifier, code cannot use it.
"""

READ_FILE = "$open"
"""Message that reads a file which the code saved; the function `open` of the worker sends it."""

OF_THE_PAGE = frozenset(_PAGE) - (
    frozenset(_FINDERS)
    | frozenset(_EVALUATE)
    | frozenset(_QUERY)
    | words(_SELECTOR_ACTIONS)
    | words("get_attribute inner_html inner_text input_value is_checked is_disabled")
    | words("is_editable is_enabled is_hidden is_visible text_content content")
    | words("wait_for_function wait_for_timeout")
)
"""Members that concern the whole page even while `page` stands for one of its frames."""

EVENTS = words(
    "close console dialog domcontentloaded download filechooser frameattached "
    "framedetached framenavigated load pageerror popup request requestfailed "
    "requestfinished response"
)
"""Events for which code may listen or wait."""

URL_MATCHERS: dict[tuple[str, str], str] = {
    ("Page", "wait_for_url"): "url",
    ("Frame", "wait_for_url"): "url",
    ("Page", "frame"): "url",
    ("Page", "expect_navigation"): "url",
    ("Frame", "expect_navigation"): "url",
    ("Page", "expect_request"): "url_or_predicate",
    ("Page", "expect_response"): "url_or_predicate",
}
"""Arguments that Playwright matches in Python, by parameter name. Its own way of doing so could
not be interrupted, so it is given functions in place of patterns; see
`page_addresses.url_matcher`."""

PREDICATE_ARGUMENTS = frozenset({"predicate", "url", "url_or_predicate"})
SCRIPT_METHODS = words(
    "evaluate evaluate_all eval_on_selector eval_on_selector_all wait_for_function"
)
"""Methods that run a script of the code in the page."""
SECRET_METHODS = frozenset({"fill", "type", "press_sequentially", "insert_text"})
"""The only methods in which `<secret:name>` is replaced by the secret."""
WRITES = words("check clear fill press_sequentially select_option set_checked type uncheck")
"""Methods that leave something behind in a field."""
