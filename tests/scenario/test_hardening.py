"""Compiler and linker hardening of the program, and core dumps without the processes' memory."""
import os
import platform
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from harness import program_under_test, wait_for

pytestmark = pytest.mark.plain  # of the build under test

CORE_PATTERN = Path("/proc/sys/kernel/core_pattern").read_text().strip()
NO_MEMORY, USUAL = "00000000", "00000033"


def readelf(*options):
    return subprocess.run(["readelf", "--wide", *options, program_under_test()], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def undefined_symbols():
    return {line.split()[7].split("@")[0] for line in readelf("--dyn-syms").splitlines() if " UND " in line and len(line.split()) > 7}


# The program file

def test_position_independent_with_read_only_relocations():
    assert "Type:                              DYN" in readelf("-h")
    flags = [line for line in readelf("-d").splitlines() if "(FLAGS_1)" in line]
    assert len(flags) == 1 and {"NOW", "PIE"} <= set(flags[0].split()), flags
    assert "GNU_RELRO" in readelf("-l")


def test_the_stack_is_not_executable():
    stack = next(line.split() for line in readelf("-l").splitlines() if "GNU_STACK" in line)
    assert "RW" in stack and "RWE" not in stack, stack


def test_stack_protector_and_fortify():
    symbols = undefined_symbols()
    assert "__stack_chk_fail" in symbols
    sanitized = any(symbol.startswith("__asan_") for symbol in symbols)
    assert sanitized or {"__memcpy_chk", "__snprintf_chk"} <= symbols, "the program has no fortified calls"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only for x86_64")
def test_control_flow_protection():
    shown = subprocess.run(["objdump", "--disassemble=cli_main", "--no-show-raw-insn", program_under_test()],
                           capture_output=True, text=True, check=True).stdout
    body = shown[shown.index("<cli_main>:"):].splitlines()
    assert body[1].split()[-1] == "endbr64", body[:3]


# Core dumps

def dump_of(pid):
    """(mask of the memory in a core dump, limit of its size)"""
    return Path(f"/proc/{pid}/coredump_filter").read_text().strip(), resource.prlimit(pid, resource.RLIMIT_CORE)[0]


def test_no_process_leaves_its_memory_in_a_core_dump(service):
    pids = service.processes_alive()
    assert len(pids) >= 4
    assert {dump_of(pid) for pid in pids} == {(NO_MEMORY, 0)}


def test_an_operator_can_enable_core_dumps(new_service):
    service = new_service(start=False, shards=1)
    service.start(command=["bash", "-c", 'ulimit -Sc unlimited; STAMPEDE_CORES=keep exec "$@"', "serve", *service.command()])
    assert {dump_of(pid)[0] for pid in service.processes_alive()} == {USUAL}
    assert {dump_of(pid)[1] for pid in service.processes_alive()} == {resource.RLIM_INFINITY}


@pytest.mark.skipif("/" in CORE_PATTERN or "|" in CORE_PATTERN, reason="the host does not write core dumps to the working directory")
@pytest.mark.parametrize("wish, found", [("", False), ("keep", True)])
def test_a_core_dump_has_no_memory(new_service, wish, found):
    """Raises the limit of a process from outside and aborts it. A word in its environment stands for the keys in its
    memory."""
    service = new_service(start=False, shards=1)
    service.expect_log("level=warn .*event=died .*signal=6")
    word = os.urandom(16).hex()
    service.start(command=["bash", "-c", f'cd {service.home} && WORD={word} STAMPEDE_CORES={wish} exec "$@"', "serve",
                           *service.command()])
    pid = service.pid_of("timer")
    resource.prlimit(pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    os.kill(pid, signal.SIGABRT)
    service.await_successor("timer", 0, pid)
    cores = list(service.home.glob("core*"))
    assert not found or cores, "the host wrote no core dump"
    assert any(word.encode() in core.read_bytes() for core in cores) == found
    for core in cores:
        core.unlink()


def test_proc_files_belong_to_the_processs_user(service):
    """Excluding memory from dumps must not hide the process from debuggers of its user."""
    pid = service.pid_of("http")
    wait_for(lambda: b"actor\0http" in Path(f"/proc/{pid}/cmdline").read_bytes(), 5, "the process's command line")
    assert Path(f"/proc/{pid}/environ").stat().st_uid == os.geteuid()
