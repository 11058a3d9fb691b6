"""Runs a program with some system calls refused, as a container's or a unit's filter does:

    refused_calls.py EPERM,fallocate,sync_file_range PROGRAM ARGUMENTS...

The filter is in the kernel and stays for all children. Only on x86-64, whose numbers are here.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {"flock": 73, "sched_setscheduler": 144, "sync_file_range": 277, "fallocate": 285, "eventfd2": 290, "epoll_create1": 291,
           "clone3": 435}
IS_POSSIBLE = platform.machine() == "x86_64"
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
LOAD, JUMP_IF_EQUAL, RETURN, REFUSE, ALLOW = 0x20, 0x15, 0x06, 0x00050000, 0x7fff0000


def install(error, calls):
    """A program of the kernel's packet filter: the number of the call is the first word that it sees."""
    steps = [(LOAD, 0, 0, 0)]
    for i, call in enumerate(calls):
        steps.append((JUMP_IF_EQUAL, len(calls) - i, 0, NUMBERS[call]))
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE | error)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def with_refused(error, calls, command):
    return [sys.executable, __file__, ",".join((error, *calls)), *map(str, command)]


if __name__ == "__main__":
    name, *refused = sys.argv[1].split(",")
    install(getattr(errno, name), refused)
    os.execv(sys.argv[2], sys.argv[2:])
