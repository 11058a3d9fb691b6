"""Commands of another version of the program, beside a service that was not restarted after an upgrade."""
import json
import re
import subprocess

import pytest
from harness import program_under_test
from metrics import fetch

COMMANDS = [("status",), ("account", "list"), ("pass", "export", "acc_aaaaaaaaaaaaaaaa", "ada"), ("reload",)]


@pytest.fixture(scope="module")
def upgraded(module_services):
    """(service, program): a running service, and a copy of its program with another protocol. The number is replaced in
    either order of its bytes."""
    service = module_services(shards=1)
    protocol = bytes.fromhex(re.search(r'stampede_build_info\{protocol="([0-9a-f]{8})"\} 1', fetch(service))[1])
    changed = program_under_test().read_bytes()
    for number in protocol, protocol[::-1]:
        changed = changed.replace(number, bytes(byte ^ 1 for byte in number))
    program = service.home / "other"
    program.write_bytes(changed)
    program.chmod(0o755)
    return service, program


def warned(service):
    return [line for line in service.log_lines() if "event=other_version " in line]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_of_another_version_is_refused(upgraded, command):
    """It does nothing: its numbers may mean other commands to the service. The service does not log each of its tries."""
    service, program = upgraded
    service.expect_log("event=other_version ")
    done = subprocess.run([program, *command, "--data", service.data], capture_output=True, text=True, env=service.environment(),
                          timeout=60, check=False)
    refused = json.loads(done.stderr)
    assert (done.returncode, done.stdout, refused["code"]) == (1, "", "NOT_RUNNING")
    assert f"{str(program_under_test())[-100:]}`; use that one" in refused["message"], refused
    assert 1 <= len(warned(service)) <= len(COMMANDS)
    assert service.cli("account", "list") == []

