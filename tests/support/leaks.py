"""Ways in which a page can reach another origin, all tried by one page.

Each asks the other place for a path of its own, so that its record shows which ones got there.
"""

from local_site import Site

IN_MARKUP = """<!doctype html><title>leaks</title>
<link rel=stylesheet href="{t}css">
<link rel=preload as=fetch crossorigin href="{t}preload">
<link rel=prefetch href="{t}prefetch">
<link rel=modulepreload href="{t}modulepreload">
<link rel=preconnect href="{t}">
<link rel=dns-prefetch href="{t}">
<style>@font-face {{ font-family: f; src: url({t}font) }}
 p {{ font-family: f; background: url({t}background) }}</style>
<script type=speculationrules>{{"prefetch": [{{"source": "list", "urls": ["{t}speculation"]}}],
 "prerender": [{{"source": "list", "urls": ["{t}prerender"]}}]}}</script>
<p>text</p>
<img src="{t}img"><img srcset="{t}srcset 1x"><video poster="{t}poster" src="{t}video"></video>
<script src="{t}script"></script><script type=module src="{t}module"></script>
<object data="{t}object"></object><embed src="{t}embed">
<svg><image href="{t}svg"/></svg>
<iframe src="{t}frame"></iframe>
<iframe srcdoc="<img src='{t}srcdoc'>"></iframe>
<iframe sandbox="allow-scripts" srcdoc="<script>fetch('{t}sandboxed')</script>"></iframe>
<iframe src="data:text/html,<img src='{t}data'>"></iframe>
<iframe srcdoc="<meta http-equiv=refresh content='0;url={t}refresh'>"></iframe>
<iframe src="/leave"></iframe>
<iframe src="/to-301"></iframe><iframe src="/to-302"></iframe><iframe src="/chain"></iframe>
<form action="{t}form" method=post target=sink><input name=q value=1></form>
<form action="/to-307" method=post target=sink2><input name=q value=1></form>
<iframe name=sink></iframe><iframe name=sink2></iframe>
<a id=ping ping="{t}ping" href="#x">x</a>
<a id=popup href="{t}popup" target=_blank rel=opener>x</a>
<iframe srcdoc="<a id=a href='{t}download' download>x</a><script>a.click()</script>"></iframe>
"""
BY_SCRIPT = """<script>
const t = '{t}', quiet = () => 0, post = {{method: 'POST', body: 'x'}};
fetch(t + 'fetch', {{mode: 'no-cors'}}).catch(quiet);
fetch('/to-fetch').catch(quiet);
fetch(t + 'keepalive', {{mode: 'no-cors', keepalive: true, ...post}}).catch(quiet);
const xhr = new XMLHttpRequest(); xhr.open('GET', t + 'xhr'); xhr.send();
navigator.sendBeacon(t + 'beacon', 'x');
new EventSource(t + 'events');
new WebSocket('ws://{h}/socket');
const code = text => URL.createObjectURL(new Blob([text], {{type: 'text/javascript'}}));
new Worker(code(`fetch('{t}worker', {{mode: 'no-cors'}})`));
new Worker(code(`importScripts('{t}imported')`));
new SharedWorker(code(`fetch('{t}shared', {{mode: 'no-cors'}})`));
navigator.serviceWorker.register('/sw.js').catch(quiet);
import(t + 'dynamic').catch(quiet);
new Image().src = t + 'image';
document.forms[0].submit(); document.forms[1].submit();
for (const id of ['ping', 'popup']) document.getElementById(id).click();
window.open(t + 'window');
window.open('/to-window');
const peer = new RTCPeerConnection({{iceServers: [
  {{urls: 'stun:{h}'}},
  {{urls: 'turn:{h}?transport=udp', username: 'a', credential: 'b'}},
  {{urls: 'turn:{h}?transport=tcp', username: 'a', credential: 'b'}}]}});
peer.createDataChannel('x');
peer.createOffer().then(offer => peer.setLocalDescription(offer));
</script>"""
_WAYS = """
css preload prefetch modulepreload font background speculation img srcset poster video
script module object embed svg frame srcdoc sandboxed data refresh to-301 to-302 chain
form to-307 ping popup download fetch to-fetch keepalive xhr beacon events socket worker
imported shared dynamic image window to-window
"""
EXPECTED = frozenset(_WAYS.split())
"""What must arrive where it may. The beacon of a page that leaves is tried too, but browsers do
not promise to deliver it."""


def leaky_page(site: Site, host: str) -> str:
    """The address of a page that tries everything against `host`."""
    target = f"http://{host}/"
    hops = {"to-301": 301, "to-302": 302, "to-307": 307, "to-fetch": 302, "to-window": 302}
    for name, status in hops.items():
        site.put(f"/{name}", "", status=status, headers={"location": target + name})
    site.put("/chain", "", status=302, headers={"location": "/link"})
    site.put("/link", "", status=308, headers={"location": target + "chain"})
    site.put(
        "/leave",
        f"<script>onpagehide = () => navigator.sendBeacon('{target}leave', 'x');"
        "setTimeout(() => { location = 'about:blank' }, 200)</script>",
    )
    text = (IN_MARKUP + BY_SCRIPT).format(t=target, h=host)
    return site.put("/leaky", text)
