"""A small tea shop for `autoweb demo`: `shop.py --port PORT --data FOLDER`.

Its state is the database `FOLDER/shop.db`: accounts, the cart, orders. It needs nothing but
Python, has one visitor at a time, and shows the same pages whenever the same was done.
"""

import argparse
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

TABLES = """
create table teas (id text primary key, name text, about text, cents integer);
create table users (name text primary key, password text, email text, newsletter integer);
create table sessions (token text primary key, user text);
create table cart (tea text, size text, packets integer);
create table vouchers (code text);
create table orders (
  id integer primary key, address text, delivery text, gift integer, cents integer, status text);
insert into teas values
  ('assam', 'Assam', 'Black tea, malty', 450),
  ('earl-grey', 'Earl Grey', 'Black tea with bergamot', 520),
  ('sencha', 'Sencha', 'Green tea from Uji', 620),
  ('jasmine', 'Jasmine Pearls', 'Green tea with jasmine', 890),
  ('peppermint', 'Peppermint', 'Herbal tea', 380);
insert into users values ('ana', 'tea-time', 'ana@example.com', 1);
insert into sessions values ('ana-is-signed-in', 'ana');
insert into cart values ('assam', '100 g', 2), ('peppermint', '100 g', 1);
insert into orders values
  (1001, '12 Harbour Street', 'standard', 0, 1340, 'paid'),
  (1002, '12 Harbour Street', 'express', 0, 890, 'paid');
"""
STYLE = """
body{font:16px/1.5 Georgia,serif;margin:0;background:#faf7f0;color:#2b2a26}
header{background:#23483d;padding:14px 32px;display:flex;gap:24px;align-items:baseline}
header a{color:#fff;text-decoration:none}header b{color:#e9c46a;margin-right:auto}
main{max-width:640px;margin:24px auto;padding:8px 32px 32px;background:#fff;
border-radius:12px;box-shadow:0 1px 6px #0002}
ul{list-style:none;padding:0}li{display:flex;gap:16px;align-items:center;padding:10px 0;
border-bottom:1px solid #eee5d5}li>:first-child{flex:1}
label{display:block;margin:12px 0}input,select,button{font:inherit;padding:6px 10px}
button{background:#23483d;color:#fff;border:0;border-radius:6px;cursor:pointer}
form{margin:0}.problem{color:#a3262a}.said{color:#23483d;font-weight:bold}
"""
VOUCHERS = ("SPRING10",)
SIZES = ("100 g", "250 g")


class Page(NamedTuple):
    """What is answered with a page; without a title the browser is sent to `body`, a path."""

    title: str
    body: str
    cookie: str = ""


class Visit(NamedTuple):
    """A request: where it goes, what it brings, and who is signed in (empty: nobody)."""

    path: str
    fields: dict[str, str]
    user: str
    database: sqlite3.Connection

    def rows(self, query: str, *values: object) -> list[Any]:
        return self.database.execute(query, values).fetchall()


def elsewhere(path: str, cookie: str = "") -> Page:
    return Page("", path, cookie)


def price(cents: int) -> str:
    return f"{cents / 100:.2f} EUR"


def form(action: str, *parts: str, method: str = "post") -> str:
    return f'<form method="{method}" action="{action}">{"".join(parts)}</form>'


def button(name: str) -> str:
    return f"<button>{escape(name)}</button>"


def hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


def field(label: str, name: str, **attributes: object) -> str:
    more = "".join(f' {key}="{escape(str(value))}"' for key, value in attributes.items())
    return f'<label>{label} <input name="{name}"{more}></label>'


def choice(label: str, name: str, options: Iterable[str]) -> str:
    listed = "".join(f"<option>{escape(option)}</option>" for option in options)
    return f'<label>{label} <select name="{name}">{listed}</select></label>'


def items(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def show_teas(visit: Visit) -> Page:
    """`/`: all teas, or those whose name or description holds `q`."""
    wanted = visit.fields.get("q", "")
    found = visit.rows(
        "select id, name, about, cents from teas where name || about like ?", f"%{wanted}%"
    )
    search = form("/", field("Search", "q", type="search"), button("Search"), method="get")
    heading = f"<p>{len(found)} found for “{escape(wanted)}”</p>" if wanted else ""
    lines = (
        f'<span><a href="/tea/{tea}">{name}</a> {about}</span><span>{price(cents)}</span>'
        for tea, name, about, cents in found
    )
    return Page("All teas", search + heading + items(lines))


def show_tea(visit: Visit) -> Page:
    """`/tea/ID`: one tea, and the form that puts it into the cart."""
    tea = visit.path.rpartition("/")[2]
    found = visit.rows("select name, about, cents from teas where id = ?", tea)
    if not found:
        return Page("Not found", "<p>There is no such tea.</p>")
    name, about, cents = found[0]
    order = form(
        "/cart/add",
        hidden("tea", tea),
        choice("Size", "size", SIZES),
        field("Packets", "packets", type="number", value=1, min=1),
        button("Add to cart"),
    )
    return Page(name, f"<p>{about}. {price(cents)} per 100 g.</p>{order}")


def add_to_cart(visit: Visit) -> Page:
    """`/cart/add`: some packets of a tea."""
    packets = visit.fields.get("packets", "")
    if not packets.isdecimal() or visit.fields.get("size") not in SIZES:
        return Page("Cart", '<p class="problem">How many packets, and of which size?</p>')
    tea, size = visit.fields.get("tea", ""), visit.fields["size"]
    visit.database.execute("insert into cart values (?, ?, ?)", (tea, size, int(packets)))
    return elsewhere("/cart")


def cart_rows(visit: Visit) -> list[tuple[int, str, str, int, int]]:
    """Return row, name, size, packets and price of what is in the cart."""
    return visit.rows(
        "select cart.rowid, name, size, packets,"
        " packets * case size when '250 g' then cents * 5 / 2 else cents end"
        " from cart join teas on teas.id = cart.tea order by cart.rowid"
    )


def cart_total(visit: Visit) -> int:
    """Return the price of the cart in cents, a tenth less with a voucher."""
    total = sum(cents for *_, cents in cart_rows(visit))
    return total * 9 // 10 if visit.rows("select code from vouchers") else total


def show_cart(visit: Visit) -> Page:
    """`/cart`: what is in it, a voucher, and the way to the checkout."""
    lines = (
        f"<span>{packets} × {name}, {size}</span><span>{price(cents)}</span>"
        + form("/cart/remove", hidden("row", str(row)), button(f"Remove {name}"))
        for row, name, size, packets, cents in cart_rows(visit)
    )
    used = visit.rows("select code from vouchers")
    voucher = (
        f'<p class="said">Voucher {escape(used[0][0])}: 10 % off</p>'
        if used
        else form("/cart/voucher", field("Voucher", "code"), button("Apply"))
    )
    total = f"<p>Total: {price(cart_total(visit))}</p>"
    return Page("Cart", f'{items(lines)}{voucher}{total}<p><a href="/checkout">Check out</a></p>')


def remove_from_cart(visit: Visit) -> Page:
    """`/cart/remove`: all packets of a row."""
    visit.database.execute("delete from cart where rowid = ?", (visit.fields.get("row"),))
    return elsewhere("/cart")


def use_voucher(visit: Visit) -> Page:
    """`/cart/voucher`: a code that the shop knows."""
    code = visit.fields.get("code", "").strip()
    if code not in VOUCHERS:
        return Page("Cart", '<p class="problem">There is no such voucher.</p>')
    visit.database.execute("insert into vouchers values (?)", (code,))
    return elsewhere("/cart")


def show_sign_in(visit: Visit) -> Page:
    """`/sign-in`: the form, with the page to continue with."""
    body = form(
        "/sign-in",
        hidden("next", visit.fields.get("next", "/account")),
        field("User name", "user"),
        field("Password", "password", type="password"),
        button("Sign in"),
    )
    return Page("Sign in", body)


def sign_in(visit: Visit) -> Page:
    """`POST /sign-in`: a session for who knows the password."""
    given = (visit.fields.get("user"), visit.fields.get("password"))
    if not visit.rows("select 1 from users where name = ? and password = ?", *given):
        problem = '<p class="problem">User name or password is wrong.</p>'
        return Page("Sign in", problem + show_sign_in(visit).body)
    then = visit.fields.get("next", "")
    cookie = "session=ana-is-signed-in; Path=/; HttpOnly"
    return elsewhere(then if then in SIGNED_IN else "/account", cookie)


def sign_out(_visit: Visit) -> Page:
    return elsewhere("/", "session=; Path=/; Max-Age=0")


def show_checkout(_visit: Visit) -> Page:
    """`/checkout`: where the order goes, and how."""
    deliveries = "".join(
        f'<label><input type="radio" name="delivery" value="{value}"> {label}</label>'
        for value, label in (("standard", "Standard delivery"), ("express", "Express delivery"))
    )
    body = form(
        "/checkout",
        field("Address", "address"),
        f"<fieldset><legend>Delivery</legend>{deliveries}</fieldset>",
        '<label><input type="checkbox" name="gift" value="1"> Gift wrap</label>',
        button("Place order"),
    )
    return Page("Checkout", body)


def place_order(visit: Visit) -> Page:
    """`POST /checkout`: the cart becomes an order."""
    address, delivery = visit.fields.get("address", "").strip(), visit.fields.get("delivery")
    if not address or delivery is None:
        problem = '<p class="problem">Address and delivery are needed.</p>'
        return Page("Checkout", problem + show_checkout(visit).body)
    gift = int("gift" in visit.fields)
    made = visit.database.execute(
        "insert into orders (address, delivery, gift, cents, status) values (?, ?, ?, ?, 'paid')",
        (address, delivery, gift, cart_total(visit)),
    )
    visit.database.execute("delete from cart")
    return elsewhere(f"/orders/{made.lastrowid}")


def show_orders(visit: Visit) -> Page:
    """`/orders`: all orders."""
    found = visit.rows("select id, status, cents from orders order by id")
    lines = (
        f'<a href="/orders/{order}">Order {order}</a><span>{status}</span>'
        f"<span>{price(cents)}</span>"
        for order, status, cents in found
    )
    return Page("Your orders", items(lines))


def show_order(visit: Visit) -> Page:
    """`/orders/ID`: one order; `/orders/ID/cancel` asks before it is cancelled."""
    order, _, asked = visit.path.removeprefix("/orders/").partition("/")
    found = visit.rows("select address, delivery, status, cents from orders where id = ?", order)
    if not found:
        return Page("Not found", "<p>There is no such order.</p>")
    address, delivery, status, cents = found[0]
    if asked:
        sure = form(f"/orders/{order}/cancel", button("Yes, cancel it"))
        keep = f'<p><a href="/orders/{order}">No, keep it</a></p>'
        return Page(f"Cancel order {order}?", sure + keep)
    about = f"<p>To {escape(address)}, {escape(delivery)}. {price(cents)}, {status}.</p>"
    cancel = f'<p><a href="/orders/{order}/cancel">Cancel this order</a></p>'
    return Page(f"Order {order}", about + (cancel if status == "paid" else ""))


def cancel_order(visit: Visit) -> Page:
    """`POST /orders/ID/cancel`."""
    order = visit.path.removeprefix("/orders/").removesuffix("/cancel")
    visit.database.execute("update orders set status = 'cancelled' where id = ?", (order,))
    return elsewhere(f"/orders/{order}")


def show_account(visit: Visit) -> Page:
    """`/account`: what the shop knows of its visitor."""
    ((email, newsletter),) = visit.rows(
        "select email, newsletter from users where name = ?", visit.user
    )
    ticked = " checked" if newsletter else ""
    body = form(
        "/account",
        field("E-mail", "email", value=email),
        f'<label><input type="checkbox" name="newsletter" value="1"{ticked}> Newsletter</label>',
        button("Save"),
    )
    said = '<p class="said">Saved.</p>' if "saved" in visit.fields else ""
    links = '<p><a href="/orders">Your orders</a></p>' + form("/sign-out", button("Sign out"))
    return Page("Your account", said + body + links)


def change_account(visit: Visit) -> Page:
    """`POST /account`: another address, newsletter or none."""
    visit.database.execute(
        "update users set email = ?, newsletter = ? where name = ?",
        (visit.fields.get("email", ""), int("newsletter" in visit.fields), visit.user),
    )
    return elsewhere("/account?saved=1")


PAGES: dict[str, Callable[[Visit], Page]] = {
    "GET /": show_teas,
    "GET /tea/": show_tea,
    "GET /cart": show_cart,
    "POST /cart/add": add_to_cart,
    "POST /cart/remove": remove_from_cart,
    "POST /cart/voucher": use_voucher,
    "GET /sign-in": show_sign_in,
    "POST /sign-in": sign_in,
    "POST /sign-out": sign_out,
    "GET /checkout": show_checkout,
    "POST /checkout": place_order,
    "GET /orders": show_orders,
    "GET /orders/": show_order,
    "POST /orders/": cancel_order,
    "GET /account": show_account,
    "POST /account": change_account,
}
"""Pages by method and path; one that ends with `/` is for all paths below it as well."""
SIGNED_IN = ("/account", "/checkout", "/orders")
"""Paths for which a visitor must be signed in."""


def answer(method: str, visit: Visit) -> Page:
    """Return the page of a path; who is not signed in is sent there first where that is needed."""
    path = visit.path
    if not visit.user and path.startswith(SIGNED_IN):
        return elsewhere(f"/sign-in?next={path}")
    folder = f"{method} /{path.split('/')[1]}/"
    show = PAGES.get(f"{method} {path}") or PAGES.get(folder)
    return show(visit) if show else Page("Not found", "<p>There is no such page.</p>")


class Handler(BaseHTTPRequestHandler):
    """Answers with pages."""

    def __init__(self, *args: Any, database: Path) -> None:
        self.database = database
        super().__init__(*args)

    def do_GET(self) -> None:
        self.reply("GET", urlsplit(self.path).query)

    def do_POST(self) -> None:
        self.reply("POST", self.rfile.read(int(self.headers["Content-Length"])).decode())

    def reply(self, method: str, fields: str) -> None:
        """Send the page, or where to look for it."""
        cookies = SimpleCookie(self.headers.get("Cookie", ""))
        token = cookies["session"].value if "session" in cookies else ""
        with closing(sqlite3.connect(self.database, timeout=10)) as database, database:
            found = database.execute("select user from sessions where token = ?", (token,))
            user = (found.fetchone() or ("",))[0]
            path = urlsplit(self.path).path
            page = answer(method, Visit(path, dict(parse_qsl(fields)), user, database))
        content = whole_page(page, user).encode() if page.title else b""
        self.send_response(200 if content else 303)
        if page.cookie:
            self.send_header("Set-Cookie", page.cookie)
        if not content:
            self.send_header("Location", page.body)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def whole_page(page: Page, user: str) -> str:
    """Put a page below the shop's header."""
    mine = (
        f'<a href="/account">{escape(user.title())}\'s account</a>'
        if user
        else '<a href="/sign-in">Sign in</a>'
    )
    header = f'<b>Quayside Tea</b><a href="/">All teas</a><a href="/cart">Cart</a>{mine}'
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{page.title}</title>'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style>'
        f"<header>{header}</header><main><h1>{page.title}</h1>{page.body}</main></html>"
    )


def main() -> None:
    """Make a fresh database and serve until stopped."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    file = options.data / "shop.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(TABLES)
    handler = partial(Handler, database=file)
    ThreadingHTTPServer(("127.0.0.1", options.port), handler).serve_forever()


if __name__ == "__main__":
    main()
