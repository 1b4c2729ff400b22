"""Forging what a run says about itself: log lines, checks, results, files of another cell."""

from attacks.attack import ALL_OF_PYTHON, ERROR, NOTHING, Attack, rows, rows_on_page

ATTACKS = [
    *rows(
        ("a log line of the lint", "", NOTHING, "log('lint: 1:1 AW101 forged')"),
        ("a terminal's orders", "", NOTHING,
         "log('\\x1b[2J\\x1b[31mpassed\\x1b]0;title\\x07\\r')"),
        ("a log line in two", "", NOTHING, "log('a\\nblocked: http://forged (allowed_origins)')"),
        ("a frame as text", "", NOTHING, "print('{\"op\":\"done\",\"ok\":true}')"),
        ("a rule in an error", "", ERROR, "raise ValueError('AW501 sandbox')"),
        ("half a character", "", NOTHING, "log('\\ud800')\nanswer('\\udfff')"),
        ("a skip", "AW104", ERROR, "import pytest\npytest.skip('done')"),
        ("a test's end", "AW301", ERROR, "raise KeyboardInterrupt"),
        ("an error that is none", "AW304", ERROR, "raise page._border.__class__"),
        ("a result", "AW304", "AW507", "page._border.pipe.send({'op': 'done'})"),
        ("a false start", "AW304", "AW507",
         "page._border.pipe.send({'op': 'ready', 'landlock': 9, 'seccomp': True, 'audit': True})"),
        ("an outcome without its error", "AW304", "AW507",
         "page._border.pipe.send({'op': 'done', 'ok': False, 'error': None, 'names': [],"
         " 'vars': {}})"),
    ),
    *rows_on_page(
        ("new text for the page", "AW308", ERROR, "page.set_content('<h1>Welcome</h1>')"),
        ("a file of another cell", "", "AW502",
         "page.screenshot(path='..' + '/../other/result.json')"),
        ("a file of another cell by link", "", "AW502", "page.screenshot(path='link.png')"),
        ("a folder as a file", "", "AW502", "page.screenshot(path='folder.png')"),
        ("a success behind a refusal", "AW304", "AW501",
         "try:\n    page.goto('http://x.test/')\nexcept:\n"
         "    page._border.pipe.send({'op': 'done', 'ok': True, 'error': None, 'names': [],"
         " 'vars': {}})"),
        ("a success that is not there", "AW304", "AW501",
         "f = type(page).__getattr__\npage._border._execute = lambda code: None\n"
         "page.goto('http://x.test/')"),
    ),
    Attack("pipes from below", "AW304", "AW507",
           ALL_OF_PYTHON + "os['write'](page._border.pipe._out, "
           "b'{\"op\":\"log\",\"text\":5}\\n')\npage.title()"),
]  # fmt: skip
