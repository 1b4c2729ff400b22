"""Applications that others wrote, from environments outside of this one.

python -m venv APPS && APPS/bin/pip install wagtail datasette fava copyparty
python -m venv APPS/trac && APPS/trac/bin/pip install 'setuptools<80' trac
npm install --prefix APPS @shoelace-style/shoelace flatpickr clusterize.js tiddlywiki
"""

import os
import sqlite3
import subprocess
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.capture.pages import HEAD, Site, free_port, serve_files

PASSWORD = "wagtailpw"
_TICKETS = """
import sys
from trac.env import Environment
from trac.ticket import Ticket
env = Environment(sys.argv[1])
for number in range(1, 13):
    ticket = Ticket(env)
    ticket['summary'] = f'The lift stops at floor {number}'
    ticket['reporter'] = 'ann'
    ticket['status'] = 'new'
    for key, value in (('type', 'defect'), ('priority', 'major'), ('component', 'component1')):
        ticket[key] = value
    ticket.insert()
"""
COMPONENTS = {
    "flatpickr": """<link rel="stylesheet" href="node_modules/flatpickr/dist/flatpickr.min.css">
<label for="day">Day</label> <input id="day"><script src="node_modules/flatpickr/dist/flatpickr.js">
</script><script>flatpickr('#day', { inline: true, defaultDate: '2026-05-05' })</script>""",
    "clusterize": """<link rel="stylesheet" href="node_modules/clusterize.js/clusterize.css">
<div class="clusterize"><div id="box" class="clusterize-scroll"><table><tbody id="rows"
class="clusterize-content"></tbody></table></div></div>
<script src="node_modules/clusterize.js/clusterize.js"></script><script>
new Clusterize({ scrollId: 'box', contentId: 'rows', rows: Array.from({ length: 5000 }, (_, n) =>
`<tr><td>${n + 1}</td><td>Item ${n + 1}</td><td><button>Order</button></td></tr>`) })</script>""",
    "shoelace": """<base href="node_modules/@shoelace-style/shoelace/cdn/">
<link rel="stylesheet" href="themes/light.css">
<script type="module" src="shoelace.js"></script>
<sl-input label="Name" placeholder="As on the invoice"></sl-input>
<sl-select label="By" value="road"><sl-option value="road">By road</sl-option>
<sl-option value="air">By air</sl-option></sl-select>
<sl-checkbox checked>Insured</sl-checkbox> <sl-switch>Express</sl-switch>
<sl-radio-group label="Size" value="m"><sl-radio value="s">Small</sl-radio>
<sl-radio value="m">Middle</sl-radio></sl-radio-group>
<sl-details summary="Advanced">Only for experts</sl-details>
<sl-tab-group><sl-tab slot="nav" panel="one">Cargo</sl-tab><sl-tab slot="nav" panel="two">Papers
</sl-tab><sl-tab-panel name="one">3 boxes</sl-tab-panel><sl-tab-panel name="two">None yet
</sl-tab-panel></sl-tab-group>
<sl-rating label="Rating" value="3"></sl-rating> <sl-range label="Weight" value="20"></sl-range>
<sl-dropdown><sl-button slot="trigger" caret>More</sl-button><sl-menu><sl-menu-item>Copy
</sl-menu-item></sl-menu></sl-dropdown>
<sl-button variant="primary">Send</sl-button> <sl-button disabled>Approve</sl-button>
<sl-icon-button name="gear" label="Settings"></sl-icon-button>""",
}


def serve_applications(site: Site, folder: Path) -> None:
    """Start all of them, with data of their own."""
    programs = folder / "bin"
    serve_trac(site, folder / "trac/bin")
    _serve_wagtail(site, programs)
    _serve_datasette(site, programs)
    _serve_fava(site, programs)
    _serve_copyparty(site, programs)
    _serve_tiddlywiki(site, folder)
    _serve_components(site, folder)


def _made(command: Sequence[str | Path], **variables: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **variables})


def serve_trac(site: Site, programs: Path) -> None:
    """Serve an issue tracker with twelve tickets, in which everybody may do everything."""
    project = site.folder / "tracker"
    admin = [programs / "trac-admin", project]
    _made([*admin, "initenv", "Lifts", "sqlite:db/trac.db"])
    _made([*admin, "permission", "add", "anonymous", "TRAC_ADMIN"])
    _made([programs / "python", "-c", _TICKETS, project])
    port = free_port()
    url = site.serve([str(programs / "tracd"), "-s", "-p", str(port), str(project)], port)
    site.pages["trac: new ticket"] = f"{url}newticket"
    site.pages["trac: query"] = f"{url}query?status=!closed&order=id&col=id&col=summary&col=status"
    site.pages["trac: ticket"] = f"{url}ticket/3"


def _serve_wagtail(site: Site, programs: Path) -> None:
    project = site.data("wagtail")
    _made([programs / "wagtail", "start", "shop", project])
    manage = [programs / "python", project / "manage.py"]
    _made([*manage, "migrate", "--no-input"])
    owner = {"USERNAME": "admin", "EMAIL": "admin@example.com", "PASSWORD": PASSWORD}
    known = {f"DJANGO_SUPERUSER_{key}": value for key, value in owner.items()}
    _made([*manage, "createsuperuser", "--no-input"], **known)
    port = free_port()
    command = [*map(str, manage), "runserver", "--noreload", str(port)]
    site.serve(command, port, "admin/login/")
    # Its cookies have the names of those of Django's admin site, which is at 127.0.0.1.
    url = f"http://localhost:{port}/"
    site.pages["wagtail: explorer"] = f"{url}admin/pages/1/"
    site.pages["wagtail: edit"] = f"{url}admin/pages/3/edit/"
    site.log_in.append(lambda page: _log_in_to_wagtail(page, url))


def _log_in_to_wagtail(page: Page, url: str) -> None:
    page.goto(f"{url}admin/login/")
    page.locator("[name=username]").fill("admin")
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("[type=submit]").click()
    page.wait_for_url(f"{url}admin/")


def _serve_datasette(site: Site, programs: Path) -> None:
    file = site.folder / "lifts.db"
    with sqlite3.connect(file) as base:
        base.execute("create table rides (id integer primary key, lift text, floor int, who text)")
        rows = [(f"Lift {n % 4}", n % 9, f"Person {n}") for n in range(60)]
        base.executemany("insert into rides (lift, floor, who) values (?, ?, ?)", rows)
    base.close()
    port = free_port()
    url = site.serve([str(programs / "datasette"), "-p", str(port), str(file)], port)
    site.pages["datasette: table"] = f"{url}lifts/rides?_facet=lift"


def _serve_fava(site: Site, programs: Path) -> None:
    file = site.folder / "books.beancount"
    first = date(2026, 1, 1)
    accounts = ("Assets:Bank", "Expenses:Food", "Expenses:Rent", "Income:Salary")
    lines = ['option "title" "Household"', 'option "operating_currency" "EUR"']
    lines += [f"{first} open {account} EUR" for account in accounts]
    for number in range(30):
        day = first + timedelta(days=5 * number)
        lines += [f'{day} * "Grocer {number}" "Food"', f"  Expenses:Food  {number + 5}.00 EUR"]
        lines += ["  Assets:Bank"]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    port = free_port()
    url = site.serve([str(programs / "fava"), "-p", str(port), str(file)], port)
    site.pages["fava: journal"] = f"{url}household/journal/"
    site.pages["fava: add entry"] = f"{url}household/income_statement/#add-transaction"


def _serve_copyparty(site: Site, programs: Path) -> None:
    shared = site.data("shared")
    for number in range(8):
        (shared / f"report {number}.txt").write_text("text\n" * number)
    port = free_port()
    command = [programs / "copyparty", "-i", "127.0.0.1", "-p", port, "-v", f"{shared}::rwmd"]
    site.pages["copyparty: files"] = site.serve(list(map(str, command)), port)


def _serve_tiddlywiki(site: Site, folder: Path) -> None:
    wiki = site.folder / "wiki"
    program = ["node", str(folder / "node_modules/tiddlywiki/tiddlywiki.js"), str(wiki)]
    _made([*program, "--init", "server"])
    port = free_port()
    url = site.serve([*program, "--listen", f"port={port}"], port)
    site.pages["tiddlywiki: start"] = url


def _serve_components(site: Site, folder: Path) -> None:
    tree = site.data("components")
    (tree / "node_modules").symlink_to(folder / "node_modules")
    url = serve_files(site, tree)
    for name, markup in COMPONENTS.items():
        (tree / f"{name}.html").write_text(f"{HEAD}<title>{name}</title>{markup}", encoding="utf-8")
        site.pages[f"components: {name}"] = f"{url}{name}.html"
