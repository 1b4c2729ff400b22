"""What a hostile outside agent tries, each attack a piece of Python that raises if it is stopped.

Each does its harm where nothing holds the program, so that it is known to be an attack. `FILE` is a
file outside the agent's folder, `OWN` that folder, `VICTIM` a process, `PORT` one of a TCP and
UDP server, `NAMED` a Unix socket, `DATAGRAMS` one that takes datagrams, and `ABSTRACT` the name of
a third.
"""

FILES = {
    "reads a file": "open(FILE).read()",
    "reads passwords of the system": "open('/etc/shadow').read()",
    "lists a folder": "os.listdir(os.path.dirname(FILE))",
    "writes a file": "open(FILE, 'a').write('x')",
    "creates a file": "open(FILE + '.new', 'w').write('x')",
    "empties a file": "os.truncate(FILE, 1)",
    "removes a file": "open(FILE + '.2', 'w'); os.remove(FILE + '.2')",
    "makes a folder": "os.mkdir(FILE + '.folder')",
    "reads by a link of its own": "os.symlink(FILE, OWN + '/s'); open(OWN + '/s').read()",
    "takes a file by a hard link": "os.link(FILE, OWN + '/h'); open(OWN + '/h').read()",
    "moves a file to itself": "os.rename(FILE, OWN + '/m'); os.rename(OWN + '/m', FILE)",
    "puts a file elsewhere": "open(OWN + '/p', 'w'); os.rename(OWN + '/p', FILE + '.put')",
    "reads by the folder of another process": "open(f'/proc/{VICTIM}/cwd/secret').read()",
    "starts a program that reads": "subprocess.run(['cat', FILE], check=True, capture_output=True)",
}
SOCKETS = {
    "connects elsewhere": "socket.create_connection(('127.0.0.1', PORT), 2)",
    "connects while it sends": "socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', PORT))",
    "connects by several paths": "socket.socket(2, 1, 262).connect(('127.0.0.1', PORT))",
    "waits for connections": "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()",
    "sends a datagram": "socket.socket(2, 2).sendto(b'x', ('127.0.0.1', PORT))",
    "asks for a name": "socket.socket(10, 2)",
    "connects to a Unix socket": "socket.socket(1, 1).connect(NAMED)",
    "connects to an abstract socket": "socket.socket(1, 1).connect('\\0' + ABSTRACT)",
    "sends to a Unix socket by a pair": "socket.socketpair(1, 2)[0].sendto(b'x', DATAGRAMS)",
    "queues its calls": "wanted(SYSCALL(425, 4, ctypes.create_string_buffer(120)) >= 0)",
}
PROCESSES = {
    "signals a process": "os.kill(VICTIM, 0)",
    "reads the environment of a process": "open(f'/proc/{VICTIM}/environ', 'rb').read()",
    "reads the memory of a process": "open(f'/proc/{VICTIM}/mem', 'rb')",
    "reads the files of a process": "os.readlink(f'/proc/{VICTIM}/fd/0')",
    "traces a process": "wanted(SYSCALL(101, 0x4206, VICTIM, 0, 0) == 0); "
    "SYSCALL(101, 0x4207, VICTIM, 0, 0); SYSCALL(101, 17, VICTIM, 0, 0)",
    "reads a key of the kernel": "wanted(SYSCALL(250, 0, -4, 1) > 0)",
    "makes shared memory": "i = SYSCALL(29, 0, 4096, 0o1600); wanted(i >= 0); SYSCALL(31, i, 0, 0)",
}
AS_ROOT = {
    "makes a device": "os.mknod(OWN + '/d', 0o60600, os.makedev(254, 0)); os.remove(OWN + '/d')",
    "raises its priority": "os.setpriority(0, 0, -5)",
    "changes a setting of the kernel": "open('/proc/sys/kernel/hostname', 'r+')",
    "becomes another user": "os.setegid(1); os.setegid(0)",
}
"""Only root can do these at all."""

PROGRAM = """
import ctypes, json, os, socket, subprocess, sys
SYSCALL = ctypes.CDLL(None).syscall
def wanted(done):
    if not done:
        raise OSError("refused")
known = json.loads(sys.argv[1])
for name, attack in known.pop("ATTACKS").items():
    try:
        exec(attack, {**globals(), **known})
    except Exception as error:
        print(json.dumps([name, False, str(error)]), flush=True)
    else:
        print(json.dumps([name, True, ""]), flush=True)
"""

TAKES_MEMORY = """
taken = []
for _ in range(200):
    taken.append(b"x" * 20_000_000)
print("took it", flush=True)
"""
TAKES_MEMORY_IN_CHILDREN = """
import os, sys, time
for _ in range(8):
    if os.fork() == 0:
        kept = b"x" * 100_000_000
        time.sleep(60)
time.sleep(float(sys.argv[1]))
print("took it", flush=True)
"""
FORKS = """
import os, sys, time
made = 0
def grow():
    global made
    while made < 1500:
        made += 1
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
grow()
time.sleep(float(sys.argv[1]))
print("took it", flush=True)
"""
THREADS = """
import sys, threading, time
for _ in range(600):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(float(sys.argv[1]))
print("took it", flush=True)
"""
TOO_MUCH = {
    "memory": TAKES_MEMORY,
    "memory in children": TAKES_MEMORY_IN_CHILDREN,
    "processes": FORKS,
    "threads": THREADS,
}
"""Programs that take more than they may, and say so after as many seconds as they are told."""
