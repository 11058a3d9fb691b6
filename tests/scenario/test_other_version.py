"""Commands of another version of the program, beside a service that was not restarted after an upgrade."""
import json
import re
import shutil
import signal
import subprocess

import pytest
from harness import program_under_test, wait_for
from metrics import fetch

COMMANDS = [("status",), ("account", "list"), ("pass", "export", "acc_aaaaaaaaaaaaaaaa", "ada"), ("reload",)]


def other_protocol(service, program):
    """Makes a copy of the service's program in which the protocol's number is another one, in either order of its bytes."""
    protocol = bytes.fromhex(re.search(r'stampede_build_info\{protocol="([0-9a-f]{8})"\} 1', fetch(service))[1])
    changed = program_under_test().read_bytes()
    for number in protocol, protocol[::-1]:
        changed = changed.replace(number, bytes(byte ^ 1 for byte in number))
    program.write_bytes(changed)
    program.chmod(0o755)
    return program


def refusal_of(program, service, *command):
    done = subprocess.run([program, *command, "--data", service.data], capture_output=True, text=True, env=service.environment(),
                          timeout=60, check=False)
    refused = json.loads(done.stderr)
    assert (done.returncode, done.stdout, refused["code"]) == (1, "", "NOT_RUNNING")
    return refused


@pytest.fixture(scope="module")
def upgraded(module_services):
    """(service, program): a running service, and a copy of its program with another protocol."""
    service = module_services(shards=1)
    return service, other_protocol(service, service.home / "other")


def warned(service):
    return [line for line in service.log_lines() if "event=other_version " in line]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_of_another_version_is_refused(upgraded, command):
    """It does nothing: its numbers may mean other commands to the service. The service does not log each of its tries."""
    service, program = upgraded
    service.expect_log("event=other_version ")
    refused = refusal_of(program, service, *command)
    assert f"{str(program_under_test())[-100:]}`; use that one" in refused["message"], refused
    assert 1 <= len(warned(service)) <= len(COMMANDS)
    assert service.cli("account", "list") == []


def test_a_program_that_was_replaced(new_service):
    """The service goes on with the file that it was started from, which has no name any more."""
    service = new_service(shards=1, start=False)
    program = service.home / "program"
    shutil.copy(program_under_test(), program)
    service.program = program
    service.start()
    service.expect_log("event=(other_version|died) ")
    shutil.copy(program, service.home / "new")
    (service.home / "new").rename(program)
    service.signal("shard", 0, signal.SIGKILL)
    wait_for(service.is_ready, 20, "a new shard of the old program")
    refused = refusal_of(other_protocol(service, service.home / "other"), service, "status")
    assert f"{str(program)[-100:]}`; restart the service" in refused["message"], refused
