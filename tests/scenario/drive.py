"""Requests to endpoints through the timer's HTTP code, without a timer process: egress/driver.c."""
import os
import subprocess

from harness import build_directory
from patience import PATIENCE

LOOPBACK = ["--allow", "127.0.0.1/32"]


class End:
    def __init__(self, line):
        self.label, self.word, status, *rest = line.split(" ")
        self.refusal = status if self.word == "refused" else None
        if self.refusal is None:
            self.status = int(status)
            self.milliseconds, self.size = int(rest[0]), int(rest[1])
            self.hash = rest[2]
            self.detail = " ".join(rest[3:])

    def __repr__(self):
        return f"{self.label}: {self.word} {self.refusal or self.status}"


def drive(lines, *options, env=None, seconds=30):
    """Runs the driver on `lines`. Returns the results in the order in which requests ended."""
    done = subprocess.run([build_directory() / "tests/egress/egress_driver", *map(str, options)],
                          input="".join(line + "\n" for line in lines), capture_output=True, text=True, timeout=seconds * PATIENCE,
                          env={**os.environ, **(env or {})}, check=False)
    assert done.returncode == 0 and done.stderr == "", done
    *ends, longest = done.stdout.splitlines()
    assert longest.startswith("longest ")
    return [End(line) for line in ends]


def words(ends):
    return {end.label: (end.word, end.status) for end in ends}


def details(ends):
    return {end.label: (end.word, end.detail) for end in ends}
