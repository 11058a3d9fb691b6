"""Refused starts: one line that names the reason, status 1, and a data directory that is unchanged or was not created.

Each reason is tested without a directory, on one that a service has left, and on a bare copy of one, which lacks the
lock file and the directory for sockets that a start creates first.
"""
import errno
import json
import os
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import places
import pytest
from disk import MIB, Disk, NotPermitted, run_quietly
from harness import Service, wait_for
from shop import Shop, path_of

SHARDS = 2
DESCRIPTORS, SESSION_DESCRIPTORS = 256, 6
HTTP_MIB, THREAD_MIB = 704, 56  # memory of http and of each of its threads
NOBODY = 65534


def everything(root):
    """All entries and the root: {name: (mode, content)}; None if the root does not exist."""
    if not root.exists():
        return None
    shown = {".": stat.S_IMODE(root.stat().st_mode)}
    for path in sorted(root.rglob("*")):
        content = places.digest(path) if path.is_file() else ""
        shown[str(path.relative_to(root))] = (path.lstat().st_mode, content)
    return shown


@pytest.fixture(scope="module")
def origin():
    service = Service(shards=SHARDS).start()
    service.shop = Shop(service, ("balance",))
    service.made = service.shop.create()
    service.shop.close()
    assert service.stop() == 0
    yield service
    assert service.close() == []


def prepare(service, kind, origin):
    """Prepares a service that is not started, without a directory, on one that a service has left, or on a bare copy of
    one."""
    service.kind = kind
    if kind != "none":
        places.copy(origin.data, service.data)
    if kind == "bare":
        (service.data / "lock").unlink()
        shutil.rmtree(service.data / "run")
        for shard in (service.data / "shards").iterdir():
            (shard / "lock").unlink()
    return service


@pytest.fixture(params=["none", "left", "bare"])
def place(request, origin, new_service):
    return prepare(new_service(start=False, shards=SHARDS), request.param, origin)


@pytest.fixture(params=["left", "bare"])
def made(request, origin, new_service):
    return prepare(new_service(start=False, shards=SHARDS), request.param, origin)


def refused(service, command=None, status=1, lines=1, limits=None):
    """Starts a service that must refuse and change nothing. Returns its message."""
    before = everything(service.data)

    def set_limits():
        for which, limit in (limits or {}).items():
            resource.setrlimit(which, limit)

    done = subprocess.run([str(word) for word in command or service.command()], capture_output=True, text=True, timeout=60,
                          check=False, env=service.environment(), preexec_fn=set_limits)
    assert (done.returncode, done.stdout) == (status, ""), done
    wait_for(lambda: not service.processes_alive(), 5, "all processes to end")
    after = everything(service.data)
    assert after == before, sorted(set(before or {}) ^ set(after or {}))
    assert not lines or len(done.stderr.splitlines()) == lines, done.stderr
    return done.stderr


def with_options(service, *options):
    return [*service.command(), *options]


# Faults of the command

def test_a_bad_option(place):
    assert "--max-body" in refused(place, with_options(place, "--max-body", "many"), status=2, lines=None)
    assert "nonsense" in refused(place, with_options(place, "--nonsense"), status=2, lines=None)


@pytest.mark.parametrize("option", ["wallet-google", "wallet-google-keys"])
def test_google_in_plain_text_without_leave_for_private_networks(place, tmp_path, option):
    """Also from a configuration file, and beside a network that is allowed by itself."""
    says, config = f"--{option}: http is for tests only: give --egress-allow-private too, or an https URL", tmp_path / "stampede.conf"
    bare = place.command()
    bare = bare[:bare.index("--wallet-google")]  # the two options of the harness come last
    url = f"--{option}=http://127.0.0.1:9/x"
    config.write_text(f"{option} = http://127.0.0.1:9/x\n")
    for words in ([url], [url, "--egress-allow", "127.0.0.0/8"], ["--config", config]):
        assert says in refused(place, [*bare, *words], status=2, lines=None)


@pytest.mark.parametrize("option", ["listen", "admin"])
def test_a_port_in_use(place, option):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert address in refused(place, place.command(**{option: address}))


def test_a_port_that_is_free_in_a_moment(new_service):
    """As after a kill of the supervisor, whose http process still holds it."""
    service = new_service(start=False, shards=1)
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        service.start(wait=False, command=service.command(listen=f"127.0.0.1:{port}"))
        with pytest.raises(subprocess.TimeoutExpired):
            service.process.wait(0.4)
    service.wait_ready()
    assert service.http == ("127.0.0.1", port)


def test_an_unreadable_certificate(place, tmp_path):
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    for cert, key in ((tmp_path / "none.pem", tmp_path / "none.key"), (bad, bad)):
        line = refused(place, with_options(place, "--tls-cert", cert, "--tls-key", key))
        assert "--tls-cert" in line and cert.name in line


def test_an_encrypted_key_is_refused_without_a_prompt(new_service, certificate, tmp_path):
    cert, key = certificate
    sealed = tmp_path / "sealed.pem"
    subprocess.run(["openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", sealed], check=True)
    service = new_service(start=False, shards=SHARDS, options=["--tls-cert", str(cert), "--tls-key", str(sealed)])
    assert "--tls-key" in refused(service)


@pytest.mark.parametrize("option", ["--config", "--tls-cert", "--egress-ca"])
def test_a_pipe_that_nobody_writes_into(place, tmp_path, option):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    more = ["--tls-key", pipe] if option == "--tls-cert" else []
    status, lines = (2, None) if option == "--config" else (1, 1)
    line = refused(place, with_options(place, option, pipe, *more), status=status, lines=lines)
    assert option in line and "a regular file is wanted" in line


def test_a_configuration_from_a_pipe(new_service, tmp_path):
    """As a shell makes one of <(command)."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"echo 'max-body = 1000' >{pipe}"]):
        service = new_service(shards=1, options=["--config", str(pipe)])
    with service.client(service.cli("account", "create", "--name", "x")["api_key"]) as client:
        assert client.request("POST", "/v1/passes", {"pass_id": "x" * 1000}).status == 413


def test_more_memory_than_the_machine_has(place):
    line = refused(place, with_options(place, "--memory", str(1 << 50)))
    assert "option=--memory" in line and f"asked={1 << 50}" in line and "machine=" in line


def test_another_number_of_shards(made):
    command = [word if word != str(SHARDS) else "5" for word in made.command()]
    assert "asked=5" in refused(made, command)


# Limits of the host

@pytest.mark.plain
def test_too_few_descriptors(place):
    """Each thread of http has a session with each shard. However few there are, the number that suffices is named."""
    needed = DESCRIPTORS + 3 * SHARDS * SESSION_DESCRIPTORS
    for allowed in (64, needed - 1):
        line = refused(place, with_options(place, "--http-threads", 3), limits={resource.RLIMIT_NOFILE: (allowed, allowed)})
        assert f"limit=RLIMIT_NOFILE needed={needed} allowed={allowed} " in line and "raise ulimit -n, or LimitNOFILE=" in line


@pytest.mark.plain
def test_too_little_address_space(place):
    line = refused(place, limits={resource.RLIMIT_AS: (1 << 38, 1 << 38)})
    assert "limit=RLIMIT_AS" in line and f"allowed={1 << 38}" in line
    assert int(line.split("needed=")[1].split()[0]) > 1 << 41


@pytest.mark.plain
def test_too_small_files(place):
    needed = 192 * MIB
    line = refused(place, limits={resource.RLIMIT_FSIZE: (needed - 4096, needed - 4096)})
    assert f"limit=RLIMIT_FSIZE needed={needed} allowed={needed - 4096} " in line and "raise ulimit -f" in line


@pytest.mark.plain
@pytest.mark.parametrize("threads, memory, needed, advice", [
    (1, 64 * MIB, (HTTP_MIB + THREAD_MIB) * MIB, "or lower --http-threads"),
    (8, 64 * MIB, (HTTP_MIB + 8 * THREAD_MIB) * MIB, "or lower --http-threads"), (1, 1024 * MIB, (576 + 1152 + 384) * MIB, "or lower --memory")])
def test_too_little_memory(place, threads, memory, needed, advice):
    """The process that needs most decides: http with its bodies and answers, or a shard with its passes."""
    command = with_options(place, "--http-threads", threads, "--memory", memory)
    line = refused(place, command, limits={resource.RLIMIT_DATA: (needed - 4096, needed - 4096)})
    assert f"limit=RLIMIT_DATA needed={needed} allowed={needed - 4096} " in line and "raise ulimit -d" in line and advice in line


@pytest.mark.plain
def test_the_least_memory_and_file_size_suffice(new_service):
    service = new_service(start=False, options=["--http-threads", "1", "--memory", str(64 * MIB)])
    least = (HTTP_MIB + THREAD_MIB) << 10
    service.start(command=["bash", "-c", f'ulimit -d {least} -f {192 << 10}; exec "$@"', "serve", *service.command()])
    assert service.cli("account", "list") == []


@pytest.mark.plain
def test_the_soft_limit_of_descriptors_is_raised(new_service):
    """It is raised to the hard limit in every process."""
    service = new_service(start=False, shards=1)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    service.start(command=["bash", "-c", 'ulimit -Sn 100; exec "$@"', "serve", *service.command()])
    assert len(service.processes_alive()) == 4
    for pid in service.processes_alive():
        assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (hard, hard)


@pytest.fixture
def small_disk(new_service):
    disks = []

    def mount(service, mib):
        service.expect_log("level=warn .*event=file_system kind=tmpfs")
        disks.append(Disk("tmpfs", service.home / "disk", mib))
        try:
            return disks[-1].mount()
        except NotPermitted as error:
            pytest.skip(f"cannot mount a file system: {error}")

    yield mount
    for disk in disks:
        disk.unmount()


@pytest.mark.parametrize("at", ["disk", "disk/data", "disk/not/there"])
def test_a_disk_without_room_for_a_new_directory(new_service, small_disk, at):
    service = new_service(start=False, shards=SHARDS)
    small_disk(service, 280)
    service.data = service.home / at
    before = everything(service.home / "disk")
    line = refused(service)
    assert "disk_too_small" in line and f"needed_bytes={(SHARDS * 96 + 96) * MIB}" in line, line
    assert 0 < int(line.split("free_bytes=")[1].split()[0]) <= 280 * MIB
    assert everything(service.home / "disk") == before


@pytest.mark.parametrize("spare", [-1, 0])
def test_a_disk_without_room_for_its_files(new_service, small_disk, spare):
    """There is room for bytes. With the inodes that it asks for, it starts."""
    service = new_service(start=False, shards=SHARDS)
    disk = small_disk(service, 1000)
    service.data = disk.at / "data"
    needed = SHARDS * 32 + 16
    used = os.statvfs(disk.at).f_files - os.statvfs(disk.at).f_ffree
    run_quietly("mount", "-o", f"remount,nr_inodes={used + needed + spare}", disk.at)
    if spare == 0:
        service.start()
        assert service.stop() == 0
        return
    line = refused(service)
    assert f"event=disk_too_few_files data=\"{service.data}\" needed_files={needed} free_files={needed - 1} " in line, line
    assert list(disk.at.iterdir()) == []


@pytest.mark.plain
def test_too_few_processes(place):
    """The limit does not bind the superuser, so another user starts the service, on a directory of its own."""
    bound = ["prlimit", "--nproc=20", "setpriv", f"--reuid={NOBODY}", "--clear-groups"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        os.chown(home, NOBODY, NOBODY)
        if subprocess.run([*bound, place.program, "version"], capture_output=True, check=False).returncode:
            pytest.skip("no other user can run the program here")
        command = ["serve", "--data", Path(home) / "data", "--shards", "1", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        done = subprocess.run([*bound, place.program, *command], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done
        assert "event=limit_too_low limit=RLIMIT_NPROC" in done.stderr and "raise ulimit -u, TasksMax=" in done.stderr
        assert not list(Path(home).iterdir())


@pytest.mark.plain  # as the next
def test_a_host_with_half_of_proc(place):
    """As systemd's ProcSubset=pid leaves it."""
    hidden = ["unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /proc/sys/kernel/random/boot_id && exec "$@"', "serve"]
    if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot mount here")
    line = refused(place, [*hidden, *place.command()])
    assert "event=no_proc path=/proc/sys/kernel/random/boot_id " in line, line


@pytest.mark.plain  # the sanitizers read /proc themselves
def test_a_host_without_proc(place):
    hidden = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "serve"]
    if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot unmount /proc here")
    line = refused(place, [*hidden, *place.command()])
    assert "event=no_proc " in line and "/proc must be mounted" in line, line


def test_a_host_without_time_zones(place):
    """A shard says it, in the format of all lines."""
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/share/zoneinfo && exec "$@"', "serve"]
    if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot mount here")
    text = refused(place, [*hidden, *with_options(place, "--log-format", "json")], lines=None)
    lines = [json.loads(line) for line in text.splitlines()]
    said = [line for line in lines if line["event"] == "time_zone"]
    assert said and all((line["role"], line["level"]) == ("shard", "fatal") for line in said), text
    assert {line["index"] for line in said} <= set(range(SHARDS)), text


def test_a_host_without_libcurl(place, tmp_path):
    (tmp_path / "libcurl.so.4").write_text("This is no library.")
    line = refused(place, ["env", f"LD_LIBRARY_PATH={tmp_path}", *place.command()])
    assert "event=libcurl_missing " in line and "install libcurl4" in line, line


def test_a_child_with_options_that_it_does_not_know(new_service):
    """Each kind of process has opened its log by then."""
    for role in ("http", "shard", "timer"):
        done = subprocess.run([new_service(start=False).program, "actor", role, "3", "--log-format", "json", "--nonsense"], capture_output=True,
                              text=True, timeout=60, check=False)
        line = json.loads(done.stderr)
        assert (done.returncode, line["event"], line["level"]) == (1, "bad_option", "fatal"), line
        assert (line["role"], line["index"]) == (role, 3) and "nonsense" in line["reason"], line


def test_a_disk_with_just_enough_room_for_a_new_directory(new_service, small_disk):
    service = new_service(start=False, shards=1)
    small_disk(service, 200)
    service.data = service.home / "disk/data"
    service.start()
    Shop(service, ("balance",)).close()
    assert service.stop() == 0


# Faults of the directory

@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_that_others_may_read(place, mode):
    if place.kind == "none":
        place.data.mkdir()
        (place.data / "master.key").write_bytes(bytes(range(32)))  # exists before the first start
    (place.data / "master.key").chmod(mode)
    line = refused(place)
    assert f"mode={mode:04o} wanted=0600" in line and "master.key" in line
    (place.data / "master.key").chmod(0o400)
    place.start()
    assert place.stop() == 0


def damages(data):
    identity = data / "identity"
    return {
        "identity": lambda: places.flip(identity, 30),
        "version": lambda: identity.write_text(re.sub("^stampede-data=[0-9]+", "stampede-data=99", identity.read_text())),
        "empty identity": lambda: identity.write_text(""),
        "another text": lambda: identity.write_bytes(b"x" * 4096),
        "no key": lambda: (data / "master.key").unlink(),
        "another key": lambda: (data / "master.key").write_bytes(bytes(32)),
        "short key": lambda: os.truncate(data / "master.key", 31),
    }


@pytest.mark.parametrize("damage", damages(Path()))
def test_a_damaged_directory(made, damage):
    damages(made.data)[damage]()
    refused(made)


def test_a_lost_identity(made, origin):
    """It is not replaced. With it the service has the same key as before."""
    kept = (made.data / "identity").rename(made.home / "identity")
    assert "identity" in refused(made)
    kept.rename(made.data / "identity")
    made.start()
    with made.client(origin.shop.key) as client:
        shown = client.get(path_of(origin.made["id"])).json
    assert shown["download_url"].rsplit("/", 1)[1] == origin.made["download_url"].rsplit("/", 1)[1]
    assert made.stop() == 0


def test_a_missing_shard(made):
    """It is not created empty."""
    kept = (made.data / "shards/1").rename(made.home / "kept")
    assert "shard_missing" in refused(made, lines=None)
    kept.rename(made.data / "shards/1")
    made.start()
    assert made.stop() == 0


def test_a_shard_without_its_journal(made):
    shutil.rmtree(made.data / "shards/1/journal")
    assert "store_refused" in refused(made, lines=None)


@pytest.mark.parametrize("name", ["letter", "identity"])
def test_a_foreign_file(new_service, name):
    service = new_service(start=False)
    service.data.mkdir()
    (service.data / name).write_text("hello\n")
    assert name in refused(service)


def test_a_directory_that_cannot_be_created(new_service):
    service = new_service(start=False)
    (service.home / "file").write_text("")
    service.data = service.home / "file/data"
    assert os.strerror(errno.ENOTDIR) in refused(service)
    service.data = service.home / "no/such/parent"
    assert os.strerror(errno.ENOENT) in refused(service)
    assert not (service.home / "no").exists()


def test_a_restored_directory_can_start_after_a_refused_start(origin, new_service):
    """A restored directory has no journal yet. A refused start must not create one."""
    origin.start()
    origin.cli("backup", origin.home / "copy")
    assert origin.stop() == 0
    service = new_service(start=False, shards=SHARDS)
    assert service.run("restore", "--from", origin.home / "copy").returncode == 0
    snapshot = next((service.data / "shards/1/snapshots").rglob("data.mdb"))
    places.flip(snapshot, snapshot.stat().st_size // 2)
    assert "store_refused" in refused(service, lines=None)
    places.flip(snapshot, snapshot.stat().st_size // 2)
    service.start()
    assert service.stop() == 0


def test_a_second_service(new_service):
    """The first one serves on."""
    service = new_service(shards=1)
    shop, processes = Shop(service, ("balance",)), service.status()["processes"]
    wait_for(lambda: len(list(service.data.rglob("*.seg"))) > 1 and not list(service.data.rglob("next.tmp")), 10,
             "the next segment of the journal")
    names = sorted(service.data.rglob("*"))
    done = service.run(*service.command()[1:], data=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1) and "locked" in done.stderr
    assert sorted(service.data.rglob("*")) == names and service.is_ready()
    assert [one["pid"] for one in service.status()["processes"]] == [one["pid"] for one in processes]
    assert shop.create()["status"] == "issued"
    shop.close()


def test_a_first_start_that_is_stopped_early(new_service):
    """SIGTERM arrives before the shards have checked their directories. Afterwards there is no directory, or a complete
    one."""
    for _ in range(3):
        service = new_service(start=False, shards=1)
        service.start(wait=False)
        wait_for(lambda: service.data.exists() or service.process.poll() is not None, 5, "the directory to be created")
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(15) == 0
        service.process = None
        service.await_nobody()
        assert not service.data.exists() or (service.data / "identity").exists()
        service.start()
        assert service.stop() == 0


# Warnings

def test_a_tls_key_readable_by_everybody_is_logged(new_service, certificate):
    cert, key = certificate
    service = new_service(start=False, shards=1, options=["--tls-cert", str(cert), "--tls-key", str(key)])
    service.expect_log("level=warn .*event=tls_key_exposed .*mode=0644")
    key.chmod(0o644)
    try:
        service.start()
    finally:
        key.chmod(0o600)
    assert any("tls_key_exposed" in line for line in service.log_lines())
    assert service.stop() == 0
    service.log_path.unlink()
    key.chmod(0o640)
    try:
        service.start()
        assert not any("tls_key_exposed" in line for line in service.log_lines())
    finally:
        key.chmod(0o600)
