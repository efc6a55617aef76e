"""The namespaces that make a host, and what runs in them."""
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

folder = Path(os.environ.get("HOSTS", "/var/tmp/cortado-hosts")).absolute()
libc = ctypes.CDLL(None, use_errno=True)
NEW = {"mnt": 0x20000, "uts": 0x4000000, "ipc": 0x8000000, "pid": 0x20000000, "net": 0x40000000}  # CLONE_NEW*


class Mistake(Exception):
    """What the user can mend."""


def call(*command, quiet=False):
    """Runs a command of the system; False where it fails and is quiet."""
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0 and not quiet:
        raise Mistake(f"{' '.join(str(c) for c in command)}: {done.stderr.strip() or done.returncode}")
    return done.returncode == 0


def enter(pid, kinds):
    for kind in kinds:
        with open(f"/proc/{pid}/ns/{kind}") as file:
            if libc.setns(file.fileno(), 0) != 0:
                raise Mistake(f"cannot enter the {kind} namespace of process {pid}: {os.strerror(ctypes.get_errno())}")


def on_network(pid, work):
    """The result of work(), done on a thread that is on the network of that process. What it opens stays there."""
    result = []

    def run():
        try:
            enter(pid, ["net"])
            result.append((work(), None))
        except Exception as error:
            result.append((None, error))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = result[0]
    if error:
        raise error
    return value


class Hosts:
    """The set of hosts, as its folder tells."""

    def __init__(self):
        try:
            self.state = json.loads((folder / "hosts.json").read_text())
        except FileNotFoundError:
            raise Mistake(f"there are no hosts ({folder}): scripts/hosts up N")

    def save(self):
        beside = folder / "hosts.json.new"
        beside.write_text(json.dumps(self.state, indent=1))
        beside.rename(folder / "hosts.json")

    def names(self):
        return [name for name in self.state if name != "front"]

    def host(self, name):
        if name not in self.state:
            raise Mistake(f"there is no host {name}: {', '.join(self.state)}")
        return self.state[name]

    def inside(self, name, *command, quiet=False):
        return call("nsenter", f"--net=/proc/{self.host(name)['pid']}/ns/net", *command, quiet=quiet)


def start_process(work, namespaces):
    """A process that runs work() in new namespaces; it outlives this one. Its process id here."""
    read, write = os.pipe()
    if os.fork() == 0:  # the first of a PID namespace is a child of the one that makes it
        try:
            os.close(read)
            os.setsid()
            if libc.unshare(sum(NEW[kind] for kind in namespaces)) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            child = os.fork()
            if child == 0:
                with open(folder / "log", "a") as log, open(os.devnull) as nothing:
                    os.dup2(nothing.fileno(), 0)
                    os.dup2(log.fileno(), 1)
                    os.dup2(log.fileno(), 2)
                work(write)
            os.write(write, f"pid {child}\n".encode())
        except BaseException as error:
            os.write(write, f"error {error}\n".encode())
        os._exit(0)
    os.close(write)
    os.wait()
    with open(read) as pipe:
        told = dict(line.strip().split(" ", 1) for line in pipe)
    if "error" in told or "ready" not in told:
        if "pid" in told:
            os.kill(int(told["pid"]), signal.SIGKILL)
        raise Mistake(f"no namespaces: {told.get('error', 'see ' + str(folder / 'log'))}")
    return int(told["pid"])


def prepare(name, tell):
    """Makes the calling process's namespaces those of the host."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        call("mount", "--make-rprivate", "/")
        if name != "front":
            call("mount", "-t", "proc", "proc", "/proc")
            call("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/tmp")
            call("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm")
        # /sys/class/net tells of the network of who mounts it; control groups are the machine's.
        system = folder / f"sys-{name}"
        system.mkdir()
        call("mount", "-t", "sysfs", "sysfs", system)
        call("mount", "--rbind", "/sys/fs/cgroup", system / "fs/cgroup")
        call("mount", "--move", system, "/sys")
        call("mount", "--bind", folder / "etc-hosts", "/etc/hosts")
        call("ip", "link", "set", "lo", "up")
        socket.sethostname(name)
    except BaseException as error:
        os.write(tell, f"error {error}\n".encode())
        os._exit(1)
    os.write(tell, b"ready 1\n")
    os.close(tell)


def live_as_front(tell):
    prepare("front", tell)
    while True:
        signal.pause()


def live_as_host(name):
    """The first process of a host: takes orphans in, and lets the others run the share of time that the file says."""
    period = 0.02

    def live(tell):
        order = {signal.SIGUSR1, signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, order)
        prepare(name, tell)

        def everybody(number):
            try:
                os.kill(-1, number)  # but this one
            except ProcessLookupError:
                pass
        share = 1.0
        while True:
            partly = 0 < share < 1
            told = signal.sigtimedwait(order, share * period) if partly else signal.sigwaitinfo(order)
            if told is None:
                everybody(signal.SIGSTOP)
                told = signal.sigtimedwait(order, (1 - share) * period)
                everybody(signal.SIGCONT)
            if told and told.si_signo == signal.SIGUSR1:
                words = (folder / name).read_text().split()
                if words[0] == "kill":
                    everybody(signal.SIGKILL)
                else:
                    share = float(words[1])
                    everybody(signal.SIGSTOP if share == 0 else signal.SIGCONT)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass
    return live


def tell_host(hosts, name, *words):
    if name == "front":
        raise Mistake("front is the host of mpirun, and stays")
    (folder / name).write_text(" ".join(words))
    os.kill(hosts.host(name)["pid"], signal.SIGUSR1)
    time.sleep(0.05)


def environment_of_jobs():
    return dict(os.environ, UCX_NET_DEVICES=os.environ.get("UCX_NET_DEVICES", "eth0"))


def start_inside(pid, kinds, command, where):
    # A PID namespace is that of children: so there is one between.
    child = os.fork()
    if child == 0:
        try:
            enter(pid, [kind for kind in NEW if kind in kinds and kind != "mnt"] + ["mnt"])
            inner = os.fork()
            if inner == 0:
                try:
                    os.chdir(where)
                    os.execvpe(command[0], command, environment_of_jobs())
                except OSError as error:
                    print(f"{command[0]}: {error.strerror}", file=sys.stderr)
                os._exit(127)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
                signal.signal(number, lambda got, _: os.kill(inner, got))
            code = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
            os._exit(code if code >= 0 else 128 - code)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
    return child
