"""Starting, replacing and hurting processes and threads."""

from attacks.attack import ALL_OF_PYTHON, ERROR, rows

ATTACKS = rows(
    ("os.system", "AW101", ERROR, "import os\nos.system('touch @MARKER@')"),
    ("subprocess", "AW101", ERROR, "import subprocess\nsubprocess.run(['touch', '@MARKER@'])"),
    ("Popen", "AW101", ERROR, "from subprocess import Popen\nPopen(['touch', '@MARKER@'])"),
    ("posix", "AW101", ERROR, "import posix\nposix.system('touch @MARKER@')"),
    ("_posixsubprocess", "AW101", ERROR, "import _posixsubprocess"),
    ("pty", "AW101", ERROR, "import pty\npty.spawn(['touch', '@MARKER@'])"),
    ("ctypes", "AW101", ERROR, "import ctypes\nctypes.CDLL(None).system(b'touch @MARKER@')"),
    ("threads", "AW101", ERROR, "import threading\nthreading.Thread(target=print).start()"),
    ("other processes", "AW101", ERROR,
     "import multiprocessing\nmultiprocessing.Process().start()"),
    ("signals", "AW101", ERROR, "import signal\nsignal.raise_signal(9)"),
    ("a console", "AW101", ERROR, "import code\ncode.interact()"),
    ("a debugger", "AW301", ERROR, "breakpoint()"),
    ("a subprocess of asyncio", "AW104", ERROR,
     "import asyncio\nasyncio.run(asyncio.create_subprocess_shell('touch @MARKER@'))"),
    ("system from the classes", "AW304", "AW508", ALL_OF_PYTHON + "os['system']('touch @MARKER@')"),
    ("popen from the classes", "AW304", ERROR, ALL_OF_PYTHON + "os['popen']('touch @MARKER@')"),
    ("spawn", "AW304", "AW508", ALL_OF_PYTHON + "os['posix_spawn']('/bin/sh', ['sh'], {})"),
    ("exec", "AW304", "AW508", ALL_OF_PYTHON + "os['execv']('/bin/sh', ['sh'])"),
    ("fork", "AW304", "AW508", ALL_OF_PYTHON + "os['fork']()"),
    ("killing the harness", "AW304", "AW508", ALL_OF_PYTHON + "os['kill'](os['getppid'](), 9)"),
    ("killing everything", "AW304", "AW508", ALL_OF_PYTHON + "os['kill'](-1, 9)"),
    ("a thread", "AW304", "AW508",
     ALL_OF_PYTHON + "os['sys'].modules['_thread'].start_new_thread(print, ())"),
    ("leaving", "AW304", "AW506", ALL_OF_PYTHON + "os['_exit'](0)"),
    ("aborting", "AW304", "AW506", ALL_OF_PYTHON + "os['abort']()"),
    ("SystemExit", "AW301", ERROR, "raise SystemExit(0)"),
    ("exit", "AW301", ERROR, "exit()"),
)  # fmt: skip
