/* What all pages of the desk share. */

const AREAS = {
  Orders: "orders", Refunds: "refunds", Papers: "papers", "Annual report": "report", Contacts: "contacts",
  Parcels: "parcels", Courses: "courses", Notices: "notices", Rooms: "rooms", Inbox: "inbox",
  "Guest book": "guests", Delivery: "delivery", Machines: "machines",
};

function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

function say(text) {
  document.querySelector(".said").textContent = text;
}

/* Tells the server what was done, and shows it. */
async function deed(what, item = "", detail = "") {
  await fetch("/deeds", { method: "POST", body: JSON.stringify({ what, item, detail }) });
  say(`${what}: ${[item, detail].filter(Boolean).join(", ")}`);
}

const asked = new URLSearchParams(location.search);

if (window === top) {
  document.body.prepend(make("header", {}, ...Object.entries(AREAS).map(([name, file]) =>
    make("a", { href: `/${file}.html`, textContent: name }))));
}
