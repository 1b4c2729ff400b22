"""The environment of the test process: variables, arguments, names, the harness's memory."""

from attacks.attack import ALL_OF_PYTHON, ERROR, NOTHING, rows

ATTACKS = rows(
    ("os.environ", "AW101", ERROR, "import os\nprint(dict(os.environ))"),
    ("environ of os", "AW101", ERROR, "from os import environ\nprint(environ)"),
    ("an aliased path", "AW101", ERROR, "import os.path as p\nprint(p.os.environ)"),
    ("sys.modules", "AW101", ERROR, "import sys\nprint(sys.modules['os'].environ)"),
    ("os in random", "AW102", ERROR, "from random import _os\nprint(_os.environ)"),
    ("os in uuid", "AW102", ERROR, "from uuid import os\nprint(os.environ)"),
    ("os in uuid by attribute", "AW304", ERROR, "import uuid\nprint(uuid.os.environ)"),
    ("the login's name", "AW101", ERROR, "import getpass\nprint(getpass.getuser())"),
    ("the machine's name", "AW101", ERROR, "import platform\nprint(platform.node())"),
    ("users", "AW101", ERROR, "import pwd\nprint(pwd.getpwall())"),
    ("the harness's module", "AW101", ERROR,
     "import pytest_autoweb.sandbox.worker as w\nprint(w.os.environ)"),
    ("all objects", "AW101", ERROR, "import gc\nprint(gc.get_objects())"),
    ("the stack", "AW101", ERROR, "import inspect\nprint(inspect.stack())"),
    ("the worker's environ", "AW304", NOTHING, ALL_OF_PYTHON + "print(dict(os['environ']))"),
    ("environ of posix", "AW304", NOTHING,
     ALL_OF_PYTHON + "print(os['sys'].modules['posix'].environ)"),
    ("arguments", "AW304", NOTHING, ALL_OF_PYTHON + "print(os['sys'].argv)"),
    ("proc", "AW304", "AW508",
     ALL_OF_PYTHON + "print(os['open'](f\"/proc/{os['getppid']()}/environ\", 0))"),
    ("a new variable", "AW304", "AW508", ALL_OF_PYTHON + "os['putenv']('PATH', '/tmp')"),
    ("the machine by uname", "AW304", "nothing error", ALL_OF_PYTHON + "print(os['uname']()[0])"),
)  # fmt: skip
