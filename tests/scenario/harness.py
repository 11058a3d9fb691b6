"""Real processes for the scenario tests: one `Service` is one `stampede serve` on its own data directory.

The harness uses only the program's contract: its command line, readiness line, log words and exit status. It never
sleeps for a fixed time; every wait is a condition with a bound (wait_for). It ends only processes that it started.
stop() and kill() fail when any process of the service is left.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time
from functools import cache
from itertools import count
from pathlib import Path

from client import Client
from commands import Pool
from patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
READY = re.compile(r"^ready http=(\S+):(\d+) admin=(\S+):(\d+) pid=(\d+)$")
LOG_LINE = re.compile(r"^time=\S+ level=(info|warn|fatal|panic) ")
READY_SECONDS = 20
POLL_SECONDS = (0.005, 0.04)  # between two looks, at first and at last: a look costs a processor more than the wait does
BY_THEMSELVES = ("restore", "verify")  # without a service these commands start their own program for each shard
_number = count(1)


def build_directory():
    build = Path(os.environ.get("STAMPEDE_BUILD", "build"))
    return build if build.is_absolute() else ROOT / build


def program_under_test():
    """The program of the build, or a control that replaces it."""
    return Path(os.environ.get("STAMPEDE_PROGRAM") or build_directory() / "stampede")


@cache
def commands():
    """STAMPEDE_COMMANDS names the command runner of a build that starts faster than one with sanitizers."""
    return Pool(os.environ.get("STAMPEDE_COMMANDS") or build_directory() / "tests/model/commands")


def wait_for(condition, seconds, what):
    """Polls until `condition()` is truthy and returns its value. Fails after `seconds` and reports `what`, or what
    `what()` returns. STAMPEDE_PATIENCE multiplies the bound on slow machines."""
    seconds *= PATIENCE
    end = time.monotonic() + seconds
    pause = POLL_SECONDS[0]
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {seconds} s in vain for {what() if callable(what) else what}"
        time.sleep(pause)
        pause = min(1.3 * pause, POLL_SECONDS[1])


def file_system_of(path):
    best = ("", "")
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, kind = line.split()[:3]
        inside = mount == "/" or path == mount or path.startswith(mount + "/")
        if inside and len(mount) > len(best[0]):
            best = (mount, kind)
    return best[1]


def is_alive(pid):
    """A zombie counts as ended: its parent has not reaped it yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"


class Rest:
    """A process that is to wait: `with Rest(pid, seconds)` takes at least so long, and fails if the process used half of it."""

    def __init__(self, pid, seconds):
        self.pid, self.seconds = pid, seconds

    def used(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        self.begin, self.before = time.monotonic(), self.used()
        return self

    def __exit__(self, kind, *_):
        if kind:
            return
        time.sleep(max(0, self.begin + self.seconds - time.monotonic()))
        assert self.used() - self.before < (time.monotonic() - self.begin) / 2


NO_APNS = "127.0.0.1:9"  # the port of discard: nothing listens


class CliError(Exception):
    """A refusal by the command line: exit status 1 and {"code","message","field"?} on stderr."""

    def __init__(self, arguments, stderr):
        super().__init__(f"stampede {' '.join(map(str, arguments))}: {stderr.strip()}")
        refusal = json.loads(stderr)
        assert set(refusal) - {"field"} == {"code", "message"}, stderr
        self.code = refusal["code"]
        self.message = refusal["message"]
        self.field = refusal.get("field")


def refusal(call, *arguments, **options):
    """Returns the CliError of a call that must fail."""
    try:
        value = call(*arguments, **options)
    except CliError as error:
        return error
    raise AssertionError(f"not refused: {call.__name__}{arguments} returned {value!r}")


class Service:
    """`options` are passed to `serve` unchanged. Log lines above `info` must be announced by expect_log()."""

    def __init__(self, shards=2, http_threads=1, options=()):
        self.build = build_directory()
        self.program = program_under_test()
        self.home = self.build / "scenario" / f"{os.getpid()}-{next(_number)}"
        self.home.mkdir(parents=True)
        assert file_system_of(str(self.home)) != "tmpfs", "durability tests need a real disk"
        self.data = self.home / "data"
        self.log_path = self.home / "log"
        self.options = ["--shards", str(shards), "--http-threads", str(http_threads), *options]
        self.process = None
        self.variables = {}
        if "--wallet-apns" not in self.options:
            self.options += ["--wallet-apns", NO_APNS]  # a test must not reach for a host of the world
        if "--wallet-google" not in self.options:
            self.options += ["--wallet-google", f"https://{NO_APNS}", "--wallet-google-keys", f"https://{NO_APNS}/keys"]
        self.expected = [re.compile(f"event=pushes_fail host={NO_APNS.replace(':', ' port=')} ")]
        self.lines_checked = 0
        self.http = self.admin_address = None

    # Start and end

    def command(self, listen="127.0.0.1:0", admin="127.0.0.1:0"):
        return [self.program, "serve", "--data", self.data, "--listen", listen, "--admin", admin, *self.options]

    def start(self, wait=True, command=None, out=None, log=None):
        """`out` and `log` are descriptors for stdout and stderr that replace the harness's files."""
        assert self.process is None
        self.out_path = self.home / "out"
        with open(self.out_path, "wb") as own_out, open(self.log_path, "ab") as own_log:
            self.process = subprocess.Popen(command or self.command(), stdin=subprocess.DEVNULL, stdout=out or own_out,
                                            stderr=log or own_log, env=self.environment())
        if wait:
            self.wait_ready()
        return self

    def environment(self):
        """Adds a mark to the environment of the service, which its children inherit. processes_alive() searches for it."""
        return {**os.environ, **self.variables, "STAMPEDE_SCENARIO": str(self.home)}

    def wait_ready(self, seconds=READY_SECONDS):
        def ready():
            code = self.process.poll()
            assert code is None, f"serve ended with {code}:\n{self.log_tail()}"
            return self.out_path.read_text().endswith("\n")

        wait_for(ready, seconds, "the readiness line")
        lines = self.out_path.read_text().splitlines()
        match = READY.match(lines[0])
        assert match and len(lines) == 1, f"not a readiness line: {lines}"
        self.http = (match[1], int(match[2]))
        self.admin_address = (match[3], int(match[4]))
        assert int(match[5]) == self.process.pid
        return self

    def stop(self, sig=signal.SIGTERM, seconds=20):
        """Stops the service and returns its exit status. No process of it may be left."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            code = self.process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"serve did not stop within {seconds} s:\n{self.log_tail()}") from None
        self.process = None
        self.await_nobody()
        return code

    def kill(self):
        """kill -9 of the supervisor alone. Its children must end by themselves."""
        process, self.process = self.process, None
        process.kill()
        process.wait()
        self.await_nobody()

    def kill_everything(self):
        """kill -9 of every process of the service at the same instant."""
        process, self.process = self.process, None
        for pid in [process.pid, *self.processes_alive()]:
            kill_quietly(pid)
        process.wait()
        self.await_nobody()

    def restart(self):
        assert self.stop() == 0
        return self.start()

    def close(self):
        """Ends the service in any state, deletes its files, and returns the unannounced log lines. For the end of a
        test."""
        try:
            for pid in self.processes_alive():
                os.kill(pid, signal.SIGCONT)
            if self.process is not None:
                self.stop()
        finally:
            for pid in self.processes_alive():
                kill_quietly(pid)
            unexpected = self.unexpected_lines()
            if not os.environ.get("STAMPEDE_KEEP"):
                shutil.rmtree(self.home, ignore_errors=True)
        return unexpected

    def processes_alive(self):
        """Every live process started by this service, found by the mark in its environment."""
        mark = f"STAMPEDE_SCENARIO={self.home}".encode()
        pids = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    pids.append(int(entry.name))
            except OSError:
                continue
        return [pid for pid in pids if is_alive(pid)]

    def await_nobody(self):
        try:
            wait_for(lambda: not self.processes_alive(), 5, "the children to end with the supervisor")
        finally:
            for pid in self.processes_alive():
                kill_quietly(pid)

    # Command line

    def run(self, *arguments, stdin=None, data=True, env=None, seconds=60):
        """Runs `stampede ARGUMENTS`; `data` adds --data of this service. Returns the finished process."""
        where = ["--data", self.data] if data else []
        return subprocess.run([self.program, *map(str, arguments), *where], input=stdin, capture_output=True,
                              text=True, timeout=seconds * PATIENCE, env=env or self.environment(), check=False)

    def cli(self, *arguments, stdin=None):
        """Returns the JSON value that a command prints. A refusal raises CliError. Tests of the command line itself use
        run()."""
        if arguments[0] in BY_THEMSELVES or "STAMPEDE_PROGRAM" in os.environ:  # a control uses only its own data directory
            done = self.run(*arguments, stdin=stdin)
            status, out, err = done.returncode, done.stdout.encode(), done.stderr.encode()
        else:
            status, out, err = commands().run([*arguments, "--data", self.data], stdin, 60 * PATIENCE)
        if status == 1:
            raise CliError(arguments, err.decode())
        assert status == 0, f"{arguments}: exit {status}: {err}"
        assert err == b"", f"{arguments}: {err}"
        return json.loads(out)

    def status(self):
        return self.cli("status")

    def peak_memory(self, role, index=0):
        """The peak resident memory of the process in bytes."""
        status = Path(f"/proc/{self.pid_of(role, index)}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def pid_of(self, role, index=0):
        for process in self.status()["processes"]:
            if (process["role"], process["index"]) == (role, index):
                return process["pid"]
        raise AssertionError(f"status shows no {role} {index}")

    def signal(self, role, index, sig):
        pid = self.pid_of(role, index)
        os.kill(pid, sig)
        return pid

    def is_ready(self):
        with self.admin() as admin:
            try:
                return admin.get("/readyz").status == 200
            except OSError:
                return False

    def kill_child(self, role, index=0):
        """kill -9 of one child. Returns when its successor is ready."""
        old = self.signal(role, index, signal.SIGKILL)
        return self.await_successor(role, index, old)

    def await_successor(self, role, index, old, seconds=READY_SECONDS):
        wait_for(lambda: self.pid_of(role, index) not in (old, 0, None), seconds, f"a new {role} {index}")
        wait_for(self.is_ready, seconds, "readiness after a restart")
        return self.pid_of(role, index)

    # Clients

    def client(self, key=None, **options):
        return Client(self.http, key, **options)

    def admin(self):
        return Client(self.admin_address, None, request_ids=False)

    # Log

    def expect_log(self, pattern):
        """Announces log lines above `info`: lines that match do not fail the test."""
        self.expected.append(re.compile(pattern))

    def log_lines(self):
        return self.log_path.read_text(errors="replace").splitlines() if self.log_path.exists() else []

    def log_tail(self):
        return "\n".join(self.log_lines()[-20:])

    def unexpected_lines(self):
        """Lines since the last call that are not log lines, or are above `info` and were not announced."""
        lines = self.log_lines()
        fresh, self.lines_checked = lines[self.lines_checked:], len(lines)
        return [line for line in fresh if is_unexpected(line, self.expected)]


def is_unexpected(line, expected):
    match = LOG_LINE.match(line)
    if match and match[1] == "info":
        return False
    return not any(pattern.search(line) for pattern in expected)


def kill_quietly(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def serve_to_the_end():
    """A service that a fixture shares between many tests."""
    service = Service().start()
    yield service
    try:
        assert service.stop() == 0
    finally:
        unexpected = service.close()
    assert unexpected == []
