"""Shared by the measuring programs: processes and their end, the service, the load generator, facts and tables.

A program calls main() with what it needs. Everything that it then starts with start() or in the background, and its
directory, is removed at its end. If it is killed, the directory stays.
"""

import contextlib
import ctypes
import glob
import http.client
import json
import os
import platform
import re
import resource
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import compare

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")
READY_SECONDS_MAX = 30
OPEN_CONNECTIONS = 4  # connections of an open loop, as a factor of a closed one's: late requests must not wait for a connection too
CALM_SHARE = 0.25  # of a closed loop's rate, for an open loop: the generator beside the service is then not late itself
DRAIN_SECONDS_MAX = 20
REST_SECONDS_MAX = 5  # of a kept-alive connection
CALM_SYNCS, CALM_SECONDS_MAX = 200, 180  # this many quick syncs in a row, within this time
TEMPLATE = {
    "name": "Bench card",
    "loyalty_type": "balance",
    "qr": True,
    "name_field": "name",
    "fields": [
        {"key": "name", "label": "Name", "type": "text", "required": True, "max_length": 80},
        {"key": "points", "label": "Points", "type": "number", "locked": True},
    ],
    "appearance": {"background_color": "#112233", "title": "Bench card"},
}


calm_seconds = 0.02  # a quick sync; more on a slow disk
built_at = ""  # the build directory, once main() knows it
measured = None  # the result, once the program has one

# In the environment of a part of bench/run: the commit of the whole run. The facts that all parts share have been
# printed.
IS_PART = "STAMPEDE_BENCH_PART"
OWN_FACTS = ("load before", "run")


class Failed(Exception):
    """The reason why the run ended, for the person who started it."""


def say(text):
    """Progress, beside the result on stdout."""
    print(text, file=sys.stderr, flush=True)


# ---- processes -------------------------------------------------------------------------------------------------

children = []


def before_exec():
    """A child ends with this program, even if this program is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def start(command, log_path, seconds_max=READY_SECONDS_MAX):
    """Starts a server in its own process group. Returns it with the fields of its `ready` line."""
    with open(log_path, "wb") as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                                 preexec_fn=before_exec)
    children.append(child)
    deadline = time.monotonic() + seconds_max
    line = b""
    while not line.endswith(b"\n"):
        readable, _, _ = select.select([child.stdout], [], [], max(0, deadline - time.monotonic()))
        byte = os.read(child.stdout.fileno(), 1) if readable else b""
        if not byte:
            with open(log_path, encoding="utf-8", errors="replace") as log:
                raise Failed(f"{command[0]} does not get ready:\n" + "".join(log.readlines()[-20:]))
        line += byte
    words = line.decode().split()
    if words[:1] != ["ready"]:
        raise Failed(f"{command[0]} says {line!r}, not `ready`")
    return child, dict(word.split("=", 1) for word in words[1:])


def stop(child, seconds_max=DRAIN_SECONDS_MAX):
    """Ends a child and its own children. The child is reaped last, so that its group's number stays reserved. Another
    thread that waits for it may reap it earlier."""
    if child.returncode is not None:
        return
    deadline = time.monotonic() + seconds_max
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        os.kill(child.pid, signal.SIGTERM)  # terminate() would reap a dead child
        while not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if os.getpgid(child.pid) == child.pid:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    child.wait()


def certificate(directory, name="cert"):
    """A new self-signed certificate for 127.0.0.1, and its key: the paths of both."""
    cert, key = f"{directory}/{name}.pem", f"{directory}/{name}-key.pem"
    done = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                           "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
                           "-keyout", key, "-out", cert], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"openssl: {done.stderr}")
    return cert, key


def command_json(command):
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children.append(child)  # also one that another thread runs: an interrupt ends it
    out, why = child.communicate()
    children.remove(child)
    if child.returncode != 0:
        raise Failed(f"{' '.join(command)}: {why.strip()}")
    return json.loads(out)


# ---- the service -------------------------------------------------------------------------------------------------


class Stampede:
    """One `stampede serve` with one shard and one HTTP thread, on an empty directory with an account and a template.
    `options` go to `serve`, `functions` are switched on in the account."""

    def __init__(self, build, directory, options=(), functions=()):
        self.program = f"{build}/stampede"
        self.data = f"{directory}/data"
        self.log_path = f"{directory}/serve.log"
        self.options = options
        self.child, self.target, self.admin, self.connection = None, None, None, None
        self.begin()
        account = self.ask("account", "create", "--name", "bench", *functions)
        self.template_path = f"{directory}/template.json"
        with open(self.template_path, "w", encoding="utf-8") as file:
            json.dump(TEMPLATE, file)
        self.account_id = account["account_id"]
        self.ask("template", "put", self.account_id, self.template_path)
        self.api_key = account["api_key"]
        self.key = ["--key", self.api_key]

    def begin(self, seconds_max=READY_SECONDS_MAX):
        """Serves the existing directory on a new port. Its log starts again."""
        self.child, fields = start([self.program, "serve", "--data", self.data, "--listen", "127.0.0.1:0",
                                    "--admin", "127.0.0.1:0", "--shards", "1", "--http-threads", "1", *self.options],
                                   self.log_path, seconds_max)
        self.target, self.admin = fields["http"], fields["admin"]
        self.connection, self.called_at = http.client.HTTPConnection(self.target), 0

    def ask(self, *words):
        return command_json([self.program, *words, "--data", self.data])

    def post(self, path, body):
        return self.call("POST", path, json.dumps(body))

    def call(self, method, path, body=None):
        """Returns the interface's answer, which must be a success. The service closes idle connections."""
        if time.monotonic() - self.called_at > REST_SECONDS_MAX:
            self.connection.close()  # to be opened again
        self.called_at = time.monotonic()
        self.connection.request(method, path, body, {"Authorization": f"Bearer {self.api_key}",
                                                     "Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status not in (200, 201):
            raise Failed(f"{method} {path}: {answer.status} {text}")
        return json.loads(text)

    def counters(self):
        """Since the start, summed over all shards; a counter that a shard does not have is missing."""
        shards = self.ask("status")["shards"]
        names = ("syncs", "batches", "commands")
        return {name: sum(shard[name] for shard in shards)
                for name in names if all(name in shard for shard in shards)}

    def pids(self):
        pids = {}
        for process in self.ask("status")["processes"]:
            if process["pid"] is not None:
                pids.setdefault(process["role"], []).append(process["pid"])
        return pids


def cpu_seconds(pids):
    """For each role: user and system time of all threads, from /proc/PID/stat."""
    seconds = {}
    for role, role_pids in pids.items():
        ticks = 0
        for pid in role_pids:
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                    after_name = stat.read().rsplit(")", 1)[1].split()
            except FileNotFoundError:
                continue
            ticks += int(after_name[11]) + int(after_name[12])
        seconds[role] = ticks / os.sysconf("SC_CLK_TCK")
    return seconds


def children_seconds():
    """User and system time of ended children: the load generator's, after a run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_ticks():
    """Of all processors together since they began: user, nice, system, idle, iowait, irq, softirq, steal."""
    with open("/proc/stat", encoding="ascii") as stat:
        return [int(ticks) for ticks in stat.readline().split()[1:9]]


def busy_seconds():
    """Busy time of all processors by any process, including the time that other guests of the host took."""
    user, nice, system, _, _, irq, softirq, steal = processor_ticks()
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def telling_what_the_host_took():
    """A virtual machine shares its processors: the time taken by others affects every number, so it is reported."""
    before = processor_ticks()
    yield
    grown = [after - first for after, first in zip(processor_ticks(), before)]
    print(f"\nhost took:   {100 * grown[-1] / max(1, sum(grown)):.1f} % of the processors' time meanwhile", flush=True)


# ---- load ------------------------------------------------------------------------------------------------------


def error_count(report):
    """The failed requests of a run of the load generator, measured or not, including those that it gave up."""
    return report["errors"] + report["warmup_errors"] + report["gave_up"]


def demand(report, what):
    """For a run that measures nothing itself: it must have no failures, because others rely on it."""
    if error_count(report):
        raise Failed(f"{what} failed: {report['status']} {report['error_kinds']}")


def load_begin(build, server, words):
    command = [f"{build}/bench/load", "--target", server.target, "--json", *server.key, *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=before_exec)
    children.append(child)
    return child


def load_end(child):
    """The load generator's report once it has ended, failures included. Without a report the run cannot continue."""
    out, _ = child.communicate()
    children.remove(child)
    if not out:
        raise Failed(f"load has no result (its exit status is {child.returncode})")
    return json.loads(out)


def load(build, server, words):
    return load_end(load_begin(build, server, words))


def fill(options, stampede, have, want, keys=None, accounts=1):
    """Creates passes have .. want-1, each exactly once in each account of `keys`, and waits for the disk."""
    keys = ["--keys", keys["keys"]] if keys else []
    report = load(options.build, stampede, ["--op", "create", "--first", str(have), "--connections",
                                            str(options.connections), "--requests", str((want - have) * accounts), *keys])
    demand(report, f"filling {want} passes")
    say(f"filled to {want * accounts:,} passes at {report['requests_per_s']:,.0f}/s")
    wait_for_disk(os.path.dirname(stampede.data))
    return {"passes": want * accounts, "accounts": accounts, "report": report}


def wait_for_disk(directory):
    """Waits until the disk has finished deferred work: dirty pages in memory, and freed blocks of deleted files. Both
    take long after gigabytes, and would be charged to the next measurement. A disk that is never that quick sets its
    own threshold."""
    global calm_seconds
    began = time.monotonic()
    os.sync()
    path, took, calm = f"{directory}/calm", [], 0
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    while calm < CALM_SYNCS and time.monotonic() - began < CALM_SECONDS_MAX:
        before = time.monotonic()
        os.pwrite(file, os.urandom(4096), 0)
        os.fdatasync(file)
        took.append(time.monotonic() - before)
        calm = calm + 1 if took[-1] < calm_seconds else 0
        time.sleep(0.005)
    os.close(file)
    os.unlink(path)
    waited = time.monotonic() - began
    if calm < CALM_SYNCS:
        calm_seconds = max(calm_seconds, 2 * statistics.median(took))
    if calm < CALM_SYNCS or waited > 5:
        say(f"waited {waited:.0f} s for the disk" + ("" if calm == CALM_SYNCS else ", which is still busy"))


def remove_place(place):
    """Deletes a data directory, which may be large, and waits until the disk has finished."""
    beside = os.path.dirname(place)
    shutil.rmtree(place)
    wait_for_disk(beside)


# ---- the result ------------------------------------------------------------------------------------------------


def output_of(*command):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def file_system_of(path):
    """Type and device of the mount that holds `path`: the longest mount point that is a prefix of it."""
    best = ("", "unknown", "unknown")
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            device, point, kind = line.split()[:3]
            if os.path.commonpath([path, point]) == point and len(point) >= len(best[0]):
                best = (point, kind, device)
    told = f"{best[1]} on {best[2]}"
    return told + ", which is memory: nothing here is durable" if best[1] in MEMORY_FILE_SYSTEMS else told


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return names[0] if names else platform.machine()


def first_line(path):
    """The first line of a kernel file; empty if the file does not exist."""
    with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
        return file.readline().strip()
    return ""


def built():
    """The measured build as meson recorded it: its type, and the versions of its libraries."""
    told = {}
    for name in ("buildoptions", "dependencies"):
        with contextlib.suppress(OSError, ValueError):
            with open(f"{built_at}/meson-info/intro-{name}.json", encoding="utf-8") as file:
                told[name] = json.load(file)
    kind = [option["value"] for option in told.get("buildoptions", []) if option["name"] == "buildtype"]
    libraries = sorted({f"{one['name']} {one['version']}" for one in told.get("dependencies", [])
                        if one["version"][:1].isdigit()})
    return "".join(kind) or "unknown", ", ".join(libraries) or "unknown"


def peer_versions():
    """The versions of the installed peers, as they print them."""
    programs = [*sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))[-1:],
                *filter(None, map(shutil.which, ("redis-server", "node")))]
    told = [f"{os.path.basename(program)} {output_of(program, '--version')}" for program in programs]
    return ", ".join(re.sub(r"^(\S+) .*?(\d[\d.]+).*", r"\1 \2", one) for one in told) or "none"


def idle_of_processors():
    """What a processor does before it sleeps: a virtual one is woken by its host, which takes far longer."""
    governor = first_line("/sys/devices/system/cpu/cpuidle/current_governor_ro") or "none"
    polls = first_line("/sys/module/haltpoll/parameters/guest_halt_poll_ns")
    return governor + (f", polls {int(polls) // 1000} us" if governor == "haltpoll" and polls else "")


def commit_of_programs():
    """The commit of the sources, and whether the programs are of it."""
    commit = output_of("git", "rev-parse", "--short", "HEAD") or "none"
    if output_of("git", "status", "--porcelain", "--untracked-files=no"):
        commit += " and changes"
    to_do = output_of("ninja", "-C", built_at, "-n") if shutil.which("ninja") else ""
    return commit + (", but the programs are older" if to_do and "no work to do" not in to_do else "")


def facts(directory):
    kind, libraries = built()
    return {
        "machine": f"{len(os.sched_getaffinity(0))} x {cpu_model()}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "kernel": platform.release(),
        "idle": idle_of_processors(),
        "disk": file_system_of(os.path.realpath(directory)),
        "commit": os.environ.get(IS_PART) or commit_of_programs(),
        "build": kind,
        "libraries": libraries,
        "peers": peer_versions(),
        "begun": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load before": f"{os.getloadavg()[0]:.2f}",
    }


def print_facts(about):
    for name, fact in about.items():
        if name in OWN_FACTS or IS_PART not in os.environ:
            print(f"{name + ':':<12} {fact}", flush=True)


def median_text(values, pattern, with_spread=False):
    if not values:
        return "-"
    text = pattern.format(statistics.median(values))
    if with_spread and len(values) > 1:
        text += f" ({pattern.format(min(values))} to {pattern.format(max(values))})"
    return text


def print_table(heads, lines):
    """Markdown, which can be copied into a document."""
    print("| " + " | ".join(heads) + " |")
    print("|" + " ---: |" * len(heads))
    for cells in lines:
        print("| " + " | ".join(cells) + " |")


@contextlib.contextmanager
def keeping(options, result):
    """What is measured in this block is kept also when it is cut short: result() returns it."""
    try:
        yield
    finally:
        keep(options, result())


def keep(options, result):
    """The result of the program: to --json, and for --compare."""
    global measured
    measured = result
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


# ---- the program -------------------------------------------------------------------------------------------------


def demand_way_to(path):
    """Checks that the results of an hour can be written at the end."""
    if path and (os.path.isdir(path) or not os.access(path if os.path.exists(path) else os.path.dirname(path) or ".",
                                                      os.W_OK)):
        raise Failed(f"--json {path} cannot be written")


def main(name, needed, options, run):
    """Calls run(options, directory), and exits with its result."""
    global built_at
    built_at = options.build = os.path.abspath(options.build)
    for program in needed:
        if not os.access(f"{options.build}/{program}", os.X_OK):
            sys.exit(f"{name}: {options.build}/{program} is missing; build first: "
                     "meson setup build-release --buildtype=release && ninja -C build-release")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda caught, _: sys.exit(128 + caught))
    try:
        demand_way_to(options.json)
        other = compare.read(options.compare, os.path.basename(name)) if options.compare else None
        directory = tempfile.mkdtemp(prefix="bench-", dir=options.dir or options.build)
    except (Failed, OSError, compare.Wrong) as why:
        sys.exit(f"{name}: {why}")
    try:
        wait_for_disk(directory)
        with telling_what_the_host_took():
            run(options, directory)
        if other:
            compare.print_both(compare.result_of(measured, "this run"), other, print_table)
    except (Failed, compare.Wrong) as why:
        sys.exit(f"{name}: {why}")
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        try:
            for child in reversed(children):
                stop(child)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
