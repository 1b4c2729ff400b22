"""The pipe from inside: frames that no proxy would write."""

from attacks.attack import ALL_OF_PYTHON, rows

_SEND = "page._border.pipe.send({})".format
_CALL = "page._border.call({{'root': page._root, 'chain': {}}}, 'click', {}, {{}})".format
_WRITE = (
    ALL_OF_PYTHON + "fd, data = page._border.pipe._out, {}\n"
    "while data:\n    data = data[os['write'](fd, data):]\npage.title()"
).format

ATTACKS = rows(
    ("an unknown operation", "AW304", "AW507", _SEND("{'op': 'nonsense'}")),
    ("a log of a number", "AW304", "AW507", _SEND("{'op': 'log', 'text': 5}")),
    ("an answer to nobody", "AW304", "AW507",
     _SEND("{'op': 'cbdone', 'id': 1, 'value': None, 'error': None}")),
    ("ready again", "AW304", "AW507", _SEND("{'op': 'ready'}")),
    ("half a call", "AW304", "AW507", _SEND("{'op': 'call', 'id': 1}")),
    ("a list", "AW304", "AW507", _SEND("[1]")),
    ("an operation that is a list", "AW304", "AW507", _SEND("{'op': ['log'], 'text': 'a'}")),
    ("a chain of numbers", "AW304", "AW507", _CALL("[5]", "[]")),
    ("a chain without end", "AW304", "AW507", _CALL("[['locator']] * 100", "[]")),
    ("a pickle", "AW304", "AW507", _CALL("[]", "[{'$pickle': 'x'}]")),
    ("a broken expression", "AW304", "AW507", _CALL("[]", "[{'$re': ['(', 0]}]")),
    ("an expression with odd flags", "AW304", "AW507", _CALL("[]", "[{'$re': ['a', 1 << 40]}]")),
    ("a number that is no number", "AW304", "AW507", _CALL("[]", "[{'$float': 'x'}]")),
    ("a broken date", "AW304", "AW507", _CALL("[]", "[{'$date': 'yesterday'}]")),
    ("a set of lists", "AW304", "AW507", _CALL("[]", "[{'$set': [[1]]}]")),
    ("a locator of nothing", "AW304", "AW507", _CALL("[]", "[{'$p': {'root': 5}}]")),
    ("a deep argument", "AW304", "AW507",
     "x = []\nfor i in range(150):\n    x = [x]\n" + _CALL("[]", "[x]")),
    ("an empty line", "AW304", "AW507", _WRITE("b'\\n'")),
    ("nonsense", "AW304", "AW507", _WRITE("b'nonsense\\n'")),
    ("bytes that are no text", "AW304", "AW507", _WRITE("b'\\xff\\xfe\\n'")),
    ("brackets", "AW304", "AW507", _WRITE("b'[' * 100_000 + b'\\n'")),
    ("a number without end", "AW304", "AW507", _WRITE("b'9' * 10_000 + b'\\n'")),
    ("a number that is none", "AW304", "AW507", _WRITE("b'{\"op\":\"log\",\"text\":NaN}\\n'")),
    ("a line without end", "AW304", "AW507", _WRITE("b'x' * 5_000_000")),
    ("values without end", "AW304", "AW507", _WRITE("b'[' + b'[],' * 300_000 + b'1]\\n'")),
    ("values behind open quotes", "AW304", "AW507",
     _WRITE("b'[\"' + b'\\\\\",' * 400_000 + b'\\n'")),
    ("a closed pipe", "AW304", "AW506 AW507 AW508",
     ALL_OF_PYTHON + "os['close'](page._border.pipe._out)\npage.title()"),
)  # fmt: skip
