"""Hanging and using up: time, processor, memory, output, calls."""

from attacks.attack import ERROR, LITTLE, SHORT, TIMEOUT, Attack

from pytest_autoweb.sandbox.engine import Limits


def _hungry(name: str, held: str, code: str, lint: str = "") -> Attack:
    return Attack(name, lint, held, code, limits=_limits(held))


def _much(name: str, code: str, *, on_page: bool = False) -> Attack:
    return Attack(name, "", "AW505", code, on_page=on_page, limits=LITTLE)


def _on_page(name: str, held: str, code: str, *, scripts: bool = False) -> Attack:
    limits = _limits(held)
    return Attack(name, "", held, code, scripts=scripts, on_page=True, limits=limits)


def _limits(held: str) -> Limits:
    """What is to run out of time gets little; on a busy machine the rest may need more."""
    return SHORT if TIMEOUT in held else Limits()


_PYTHON = [
    _hungry("a loop that never ends", TIMEOUT, "while True:\n    pass", "AW307"),
    _hungry("a loop without a constant", TIMEOUT, "x = 1\nwhile x:\n    x += 1"),
    _hungry("a loop inside C", TIMEOUT, "sum(iter(int, 1))"),
    _hungry("a power", TIMEOUT, "x = 10 ** 10 ** 9"),
    _hungry("a factorial", TIMEOUT, "x = math.factorial(10 ** 7)"),
    _hungry("a number as text", ERROR, "x = str(10 ** 100_000)"),
    _hungry("backtracking", TIMEOUT, "re.match('(a+)+$', 'a' * 60 + 'b')"),
    _hungry("an endless iterator", TIMEOUT,
            "import itertools\nfor i in itertools.count():\n    x = i"),
    _hungry("swallowed errors", TIMEOUT,
            "x = 1\nwhile x:\n    try:\n        x = x + 1\n    except:\n        pass"),
    _hungry("a sort that never ends", TIMEOUT,
            "sorted(range(10 ** 6), key=lambda n: sum(range(n)))"),
    _hungry("a huge list", "AW506", "x = list(range(10 ** 12))"),
    _hungry("a huge string", "AW506", "x = 'a' * 10 ** 11"),
    _hungry("a huge padding", "AW506", "x = f'{1:>{10 ** 10}}'"),
    _hungry("a huge percent", "AW506", "x = '%*d' % (10 ** 9, 1)"),
    _hungry("nested doubling", "AW506 timeout",
            "x = ['a' * 1000]\nfor i in range(60):\n    x = x + x"),
    _hungry("a growing list", "AW506 timeout",
            "x = []\nwhile len(x) >= 0:\n    x.append('a' * 5_000_000 + str(len(x)))"),
    _hungry("deep recursion", ERROR, "def f(n):\n    return f(n + 1)\nf(0)"),
    _hungry("a loop in a value", ERROR, "x = []\nx.append(x)\nanswer(x)"),
    _hungry("a deep value", ERROR, "x = []\nfor i in range(5000):\n    x = [x]\nanswer(x)"),
    _hungry("a huge answer", ERROR, "answer('a' * 5_000_000)"),
    _hungry("an answer of many values", ERROR, "answer([[]] * 200_000)"),
    _hungry("many variables of many values", "nothing", "x = [1] * 60_000\ny = [2] * 60_000"),
    _hungry("many variables", "nothing", "x = {n: str(n) * 5 for n in range(20_000)}"),
    _much("much output", "for i in range(10 ** 6):\n    print('x' * 100)"),
    _much("one long line", "print('x' * 3_000_000)"),
    _much("many answers", "for i in range(100):\n    answer(i)"),
    _hungry("a long source", "nothing", "y = '" + "a" * 30_000 + "'", "AW002"),
    _hungry("a deep source", ERROR, "x = " + "-" * 5000 + "1", "AW002"),
    _hungry("a deep chain", ERROR, "x = a" + ".strip()" * 500, "AW002"),
    _hungry("a bracket that never closes", ERROR, "x = " + "(" * 250 + "1" + ")" * 250, "AW001"),
]  # fmt: skip

_BROWSER = [
    _much("many calls", "for i in range(100):\n    page.title()", on_page=True),
    _much("many large texts", "for i in range(40):\n    page.fill('#user', 'a' * 150_000)",
          on_page=True),
    Attack("processor time", "", "AW506", "x = 7\nwhile x:\n    x += 1",
           limits=Limits(step_s=10, cpu_s=1)),
    # A busy machine takes seconds to open so many.
    _on_page("new pages without end", "AW505",
             "for i in range(100):\n    page.context.new_page()"),
    _on_page("a long pause", TIMEOUT, "page.wait_for_timeout(1e9)"),
    _on_page("a long sleep", TIMEOUT, "import time\ntime.sleep(1e6)"),
    _on_page("a long wait", TIMEOUT, "page.click('#none', timeout=0)"),
    _on_page("a long claim", TIMEOUT, "expect(page.locator('#none')).to_be_visible(timeout=1e9)"),
    _on_page("slow typing", TIMEOUT, "page.type('#user', 'abc', delay=1e7)"),
    _on_page("a slow click", TIMEOUT, "page.click('#user', delay=1e7)"),
    _on_page("endless defaults", TIMEOUT,
             "page.set_default_timeout(0)\npage.wait_for_selector('#none')"),
    _on_page("waiting in a loop", TIMEOUT,
             "while page:\n    try:\n        page.click('#none')\n"
             "    except Exception:\n        pass"),
    _on_page("a handler that hangs", TIMEOUT,
             "def h(d):\n    x = 1\n    while x:\n        x += 1\npage.once('dialog', h)\n"
             "page.click('text=Ask')"),
    _on_page("a predicate that hangs", TIMEOUT,
             "with page.expect_request(lambda r: sum(iter(int, 1))):\n    page.click('text=Next')"),
    _on_page("a huge reply", ERROR, "page.request.get('/large')"),
    _on_page("a reply that inflates", ERROR, "page.request.get('/inflating')"),
    _on_page("a huge window", ERROR, "page.set_viewport_size({'width': 10 ** 9, 'height': 1})"),
    _on_page("a number without end", ERROR, "page.mouse.move(float('inf'), 1)"),
    _on_page("a number beyond floats", ERROR, "page.mouse.move(10 ** 400, 1)"),
    _on_page("a long expression", ERROR, "page.get_by_text(re.compile('a' * 5000)).count()"),
    _on_page("backtracking in the page", "AW511 timeout",
             "page.fill('#user', 'a' * 60 + '!')\n"
             "expect(page.locator('#user')).to_have_value(re.compile('^(a+)+$'))"),
    _on_page("a script that never ends", TIMEOUT,
             "page.evaluate('() => { while (true) {} }')", scripts=True),
    _on_page("a promise that never comes", TIMEOUT,
             "page.evaluate('() => new Promise(() => {})')", scripts=True),
    _on_page("a script that waits", TIMEOUT,
             "page.wait_for_function('() => { while (true) {} }')", scripts=True),
]  # fmt: skip

ATTACKS = [*_PYTHON, *_BROWSER]
