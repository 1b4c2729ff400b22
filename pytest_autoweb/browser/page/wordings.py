"""Other words for labels that many sites have, as `--autoweb-perturb=rename` gives them.

No synonym is a label that is itself reworded, and none stands for two, so that no two labels of a
page come to be the same by it.
"""

import random
from collections.abc import Sequence

SYNONYMS: dict[str, tuple[str, str]] = {
    "add": ("Put in", "Include"),
    "add to basket": ("Put in the basket", "Place in basket"),
    "add to cart": ("Put in the cart", "Place in cart"),
    "address": ("Postal address", "Where you live"),
    "apply": ("Put into effect", "Use these settings"),
    "back": ("Return", "Previous page"),
    "buy": ("Purchase", "Get it"),
    "cancel": ("Discard", "Never mind"),
    "checkout": ("Proceed to payment", "Complete purchase"),
    "city": ("Town", "Place of residence"),
    "clear": ("Empty", "Wipe"),
    "close": ("Dismiss", "Hide this"),
    "confirm": ("Yes, go ahead", "Approve"),
    "contact": ("Get in touch", "Write to us"),
    "continue": ("Proceed", "Go on"),
    "create": ("Make", "Set up"),
    "delete": ("Erase", "Throw away"),
    "description": ("What it is about", "Details in words"),
    "download": ("Fetch the file", "Get a copy"),
    "edit": ("Modify", "Make changes"),
    "email": ("Electronic mail", "Your mailbox"),
    "filter": ("Narrow down", "Refine"),
    "finish": ("Complete", "Wrap up"),
    "first name": ("Given name", "Forename"),
    "help": ("Assistance", "Support"),
    "home": ("Start page", "Main page"),
    "last name": ("Family name", "Surname"),
    "log in": ("Enter your account", "Access your account"),
    "log out": ("Leave your account", "End your session"),
    "login": ("Account access", "Identify yourself"),
    "menu": ("All pages", "Site overview"),
    "message": ("Your words", "What you want to say"),
    "name": ("What you are called", "How you are called"),
    "new": ("Fresh", "Start another"),
    "next": ("Forward", "Onward"),
    "ok": ("All right", "Agreed"),
    "open": ("Show", "View"),
    "password": ("Secret word", "Passphrase"),
    "phone": ("Telephone number", "Number to call"),
    "quantity": ("How many", "Number of pieces"),
    "register": ("Become a member", "Join us"),
    "remove": ("Take out", "Take away"),
    "reset": ("Start over", "Undo all"),
    "save": ("Keep", "Store"),
    "search": ("Look for", "Find"),
    "send": ("Dispatch", "Deliver"),
    "settings": ("Preferences", "Options"),
    "sign in": ("Let me in", "Get into your account"),
    "sign out": ("Let me out", "Get out of your account"),
    "sign up": ("Open an account", "Start an account"),
    "submit": ("Hand in", "Pass on"),
    "subject": ("What it concerns", "Topic"),
    "title": ("Heading", "Caption"),
    "update": ("Bring up to date", "Renew"),
    "upload": ("Add a file", "Provide a file"),
    "username": ("Account name", "User ID"),
    "yes": ("Certainly", "Indeed"),
}
_AROUND = (("", " ›"), ("» ", ""), ("[", "]"), ("– ", " –"))
"""What stands before and after a label for which there is no synonym."""


def drawn_words(draw: random.Random, kept: Sequence[str]) -> dict[str, object]:
    """Return what `js/rename.js` makes of labels: synonyms, and what is around all others.

    Args:
        draw: the source of what is open.
        kept: texts in small letters whose words get no synonym. A page must not learn them.
    """
    before, after = draw.choice(_AROUND)
    words = [[label, draw.choice(synonyms)] for label, synonyms in SYNONYMS.items()]
    return {
        "words": [pair for pair in words if not any(pair[0] in text for text in kept)],
        "before": before,
        "after": after,
        "mark": f"v{draw.randrange(16**4):04x}",
    }
