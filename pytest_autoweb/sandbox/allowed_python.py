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
