"""Speaking to the network past the browser."""

from attacks.attack import ALL_OF_PYTHON, ERROR, rows

ATTACKS = rows(
    ("socket", "AW101", ERROR,
     "import socket\nsocket.create_connection('@EVIL@'.split(':'))"),
    ("urlopen", "AW101", ERROR, "import urllib.request\nurllib.request.urlopen('http://@EVIL@/')"),
    ("request of urllib", "AW102", ERROR,
     "from urllib import request\nrequest.urlopen('http://@EVIL@/')"),
    ("request beside parse", "AW304", ERROR,
     "import urllib.parse\nurllib.nothing.urlopen('http://@EVIL@/')"),
    ("http.client", "AW101", ERROR,
     "import http.client\nhttp.client.HTTPConnection('@EVIL@').connect()"),
    ("requests", "AW101", ERROR, "import requests\nrequests.get('http://@EVIL@/')"),
    ("httpx", "AW101", ERROR, "import httpx\nhttpx.get('http://@EVIL@/')"),
    ("ssl", "AW101", ERROR, "import ssl\nssl.get_server_certificate(('@EVIL@', 443))"),
    ("mail", "AW101", ERROR, "import smtplib\nsmtplib.SMTP('@EVIL@')"),
    ("asyncio", "AW104", ERROR,
     "import asyncio\nasyncio.run(asyncio.open_connection('127.0.0.1', 1))"),
    ("a browser in a window", "AW101", ERROR, "import webbrowser\nwebbrowser.open('http://@EVIL@/')"),
    ("_socket, late", "AW304", ERROR,
     ALL_OF_PYTHON + "os['sys'].modules['builtins'].__import__('_socket').socket()"),
    ("_socket, loaded", "AW304", ERROR, ALL_OF_PYTHON + "os['sys'].modules['_socket'].socket()"),
    ("the C library", "AW304", ERROR,
     ALL_OF_PYTHON + "os['sys'].modules['_ctypes'].dlopen(None, 0)"),
)  # fmt: skip
