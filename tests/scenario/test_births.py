"""What a process is born with: signals, descriptors, limits, a umask and a configuration that its parent left it, and system
calls that a filter refuses. It works, or says what is missing."""
import fcntl
import json
import os
import resource
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import CliError, wait_for
from patience import PATIENCE
from refused_calls import IS_POSSIBLE, with_refused
from shop import Shop

pytestmark = pytest.mark.plain  # the sanitizers need /proc, threads and memory of their own

WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "without"]
FIPS = "openssl_conf = a\n[a]\nalg_section = b\n[b]\ndefault_properties = fips=yes\n"


def run(command, status=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60 * PATIENCE, check=False,
                          **{"stdin": subprocess.DEVNULL, **options})
    assert done.returncode == status, done
    return done


def refused(service, command, **options):
    """The only line of a start that is refused."""
    done = run(command, status=1, env=service.environment(), **options)
    (line,) = done.stderr.splitlines()
    assert "level=fatal" in line and not service.data.exists(), line
    return line


def failed(command, **options):
    """Code and message of a command that fails."""
    error = json.loads(run(command, status=1, **options).stderr.splitlines()[-1])
    return error["code"], error["message"]


def waits_for(process, call):
    return call in Path(f"/proc/{process.pid}/wchan").read_text()


def can_mount():
    return subprocess.run([*WITHOUT_PROC, "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def place(new_service):
    return new_service(start=False, shards=1)


@pytest.fixture
def stopped(place):
    """On a directory with a pass."""
    place.start()
    shop = Shop(place, ("balance",))
    shop.create("p")
    shop.close()
    assert place.stop() == 0
    return place


# The configuration

def test_a_data_directory_from_a_pipe_stays_as_it_is_at_a_reload(place):
    command = [word for word in map(str, place.command()) if word not in ("--data", str(place.data))]
    place.start(command=["bash", "-c", f'exec "$@" --config <(printf "data = {place.data}\\n")', "serve", *command])
    place.expect_log("event=reload_refused ")
    with pytest.raises(CliError, match="came through a pipe|cannot read"):
        place.cli("reload")


@pytest.mark.parametrize("how", ['exec "$@" --config <(printf "max-body = 1000\\n")',
                                 'exec "$@" --config /dev/stdin < <(printf "max-body = 1000\\n")'])
def test_a_configuration_from_a_pipe_stays_as_it_is_at_a_reload(place, how):
    place.start(command=["bash", "-c", how, "serve", *map(str, place.command())])
    shop = Shop(place, ("balance",))
    place.expect_log("event=reload_refused ")
    with pytest.raises(CliError, match="came through a pipe|cannot read"):
        place.cli("reload")
    assert shop.client.post("/v1/passes", {"pass_id": "p", "hidden": {"x": "y" * 2000}}).status == 413
    shop.close()


def test_a_configuration_file_may_be_emptied(place, tmp_path):
    config = tmp_path / "conf"
    config.symlink_to(os.devnull)
    place.options += ["--config", config]
    place.start()
    assert place.cli("reload")["changed"] == []
    config.unlink()
    config.write_text("")
    assert place.cli("reload")["changed"] == []
    config.write_text("max-body = 1000\n")
    assert place.cli("reload")["changed"] == ["max-body"]
    config.write_text("")
    assert place.cli("reload")["changed"] == ["max-body"]


# Signals

def test_an_ignored_sigchld_hides_no_child(stopped, tmp_path):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    program, data = stopped.program, stopped.data
    assert json.loads(run([program, "verify", "--data", data], preexec_fn=ignore).stdout)["ok"] is True
    assert run([program, "journal", "dump", data / "shards/0"], preexec_fn=ignore).stdout
    stopped.start()
    stopped.cli("backup", tmp_path / "copy")
    assert stopped.stop() == 0
    run([program, "restore", "--from", tmp_path / "copy", "--data", tmp_path / "data"], preexec_fn=ignore)


# Descriptors

@contextmanager
def inherited(count, limit):
    """Options of a process that gets so many open files, and may have so many."""
    with open(os.devnull, "rb") as one:
        kept = [os.dup(one.fileno()) for _ in range(count)]
    try:
        yield {"pass_fds": kept, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)}
    finally:
        for descriptor in kept:
            os.close(descriptor)


def test_inherited_descriptors_count(place):
    """The supervisor has them; its children close them."""
    with inherited(590, (600, 600)) as options:
        line = refused(place, place.command(), **options)
    assert "event=limit_too_low limit=RLIMIT_NOFILE needed=692 allowed=600 " in line and "left too many files open" in line, line


@pytest.mark.parametrize("count, limit", [(400, (600, 600)), (90, (100, 5000)), (0, (10, 5000))])
def test_inherited_descriptors_that_leave_enough(place, count, limit):
    """Also when only the soft limit is low."""
    with inherited(count, limit) as options, open(place.home / "out", "wb") as out, open(place.log_path, "ab") as log:
        place.process = subprocess.Popen(place.command(), stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=place.environment(),
                                         **options)
        place.out_path = place.home / "out"
        place.wait_ready()
        run([place.program, "status", "--data", place.data], **options)


def test_the_command_line_takes_non_blocking_descriptors(service, tmp_path):
    """As some programs make the ends that they share with us."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
    with subprocess.Popen([service.program, "openapi"], stdin=subprocess.DEVNULL, stdout=writer) as process:
        try:
            wait_for(lambda: waits_for(process, "poll"), 10, "the command to wait for its reader")
            assert fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK, "others have it, too"
        except AssertionError:
            process.kill()
            raise
        os.close(writer)
        with open(reader, "rb") as pipe:
            document = json.load(pipe)
        assert process.wait(30 * PATIENCE) == 0
    assert document["paths"]
    account = service.cli("account", "create", "--name", "A")["account_id"]
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_NONBLOCK)
    with subprocess.Popen([service.program, "template", "put", account, "-", "--data", service.data], stdin=reader,
                          stdout=subprocess.PIPE) as process:
        os.close(reader)
        wait_for(lambda: waits_for(process, "poll"), 10, "the command to wait for its file")
        with open(writer, "w", encoding="utf-8") as pipe:
            pipe.write('{"name":"n","loyalty_type":"none","fields":[]}')
        assert json.loads(process.communicate(timeout=30 * PATIENCE)[0])["pass_template_id"]
        assert process.returncode == 0


# Limits

def test_a_stack_that_is_too_small(place):
    line = refused(place, ["prlimit", "--stack=65536:65536", *place.command()])
    assert "event=limit_too_low limit=RLIMIT_STACK needed=262144 allowed=65536 " in line, line
    place.start(command=["prlimit", "--stack=49152:", *place.command()])
    run(["prlimit", "--stack=49152:", place.program, "status", "--data", place.data])


def test_a_limit_of_processor_time_is_reported(place):
    place.expect_log("event=cpu_time_limited ")
    place.start(command=["prlimit", "--cpu=5000:5000", *place.command()])
    (line,) = [line for line in place.log_lines() if "event=cpu_time_limited " in line]
    assert "limit=RLIMIT_CPU seconds=5000 " in line


@pytest.mark.parametrize("mask", [0o277, 0o477, 0o777])
def test_a_umask_takes_nothing_from_the_owner(place, mask):
    """Of another user than the superuser: no mode stops that one."""
    bound = [] if os.geteuid() else ["setpriv", "--reuid=65534", "--clear-groups"]
    place.home.chmod(0o777)
    if bound and subprocess.run([*bound, "touch", place.home / "probe"], capture_output=True, check=False).returncode:
        pytest.skip("no other user can write here")
    command = [*bound, *map(str, place.command())]
    if subprocess.run([*bound, place.program, "version"], capture_output=True, check=False).returncode:
        pytest.skip("no other user can run the program here")
    for _ in range(2):
        place.start(wait=False, command=["sh", "-c", f'umask {mask:04o}; exec "$@"', "serve", *command])
        place.wait_ready()
        assert place.stop() == 0


# What the host does not have

def test_commands_without_proc(stopped):
    if not can_mount():
        pytest.skip("cannot mount here")
    program, data = stopped.program, stopped.data
    for command in (["verify", "--data", data], ["journal", "dump", data / "shards/0"]):
        code, message = failed([*WITHOUT_PROC, program, *command])
        assert code == "UNSUPPORTED" and "is /proc mounted" in message, message
    stopped.start()
    _, message = failed([*WITHOUT_PROC, program, "status", "--data", data])
    assert "/proc, which is not mounted" in message, message


def test_an_openssl_configuration_that_cannot_be_met(place, tmp_path):
    if not can_mount():
        pytest.skip("cannot mount here")
    config = tmp_path / "openssl.cnf"
    config.write_text(FIPS)
    hidden = ["unshare", "--mount", "sh", "-c", f'mount --bind {config} /etc/ssl/openssl.cnf && exec "$@"', "serve"]
    line = refused(place, [*hidden, *place.command()])
    assert "event=bad_certificate option=OpenSSL " in line and "TLS cannot be used on this host" in line, line


only_here = pytest.mark.skipif(not IS_POSSIBLE, reason="the numbers of the calls are those of x86-64")


@only_here
@pytest.mark.parametrize("error, calls", [("EPERM", ["sched_setscheduler"]), ("EPERM", ["fallocate", "sync_file_range"]),
                                          ("ENOSYS", ["fallocate", "sync_file_range"])])
def test_calls_that_it_can_do_without(place, error, calls):
    place.start(command=with_refused(error, calls, place.command()))
    shop = Shop(place, ("balance",))
    shop.create("p")
    wait_for(lambda: shop.client.post("/v1/passes/p/loyalty", {"balance_to_add": 1}).status == 202, 10, "an update")
    shop.close()
    assert place.stop() == 0


@only_here
@pytest.mark.parametrize("error, call, says", [("EPERM", "eventfd2", 'event=system_call_refused what="an eventfd" '),
                                               ("EPERM", "epoll_create1", 'event=system_call_refused what="an epoll instance" '),
                                               ("EPERM", "clone3", 'event=system_call_refused what="a thread" '),
                                               ("EPERM", "flock", "event=lock_failed ")])
def test_calls_that_it_cannot_do_without(place, error, call, says):
    line = refused(place, with_refused(error, [call], place.command()))
    assert says in line and "Operation not permitted" in line, line


@only_here
def test_a_shard_that_ends_by_its_disk_names_the_error(place):
    place.expect_log("shard_failed|tables_withdrawn|event=died|event=killed|start_failed")
    place.start(command=with_refused("EIO", ["sync_file_range"], place.command()), wait=False)
    wait_for(lambda: 'event=shard_failed code=IO error="Input/output error"' in place.log_tail(), 20, "the shard's last line")
    place.stop()


@only_here
@pytest.mark.parametrize("call, what", [("eventfd2", "an eventfd"), ("epoll_create1", "an epoll instance"), ("clone3", "a thread")])
def test_a_command_that_may_have_no_session_says_so(service, call, what):
    code, message = failed(with_refused("EPERM", [call], [service.program, "status", "--data", service.data]))
    assert (code, message) == ("UNSUPPORTED", f"The system refuses this process {what}: Operation not permitted.")
