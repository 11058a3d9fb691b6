"""How slow this machine is for the suite, as a factor from 1 to 10: every bound of a wait is multiplied by it.

The probe loads the machine as the suite does, with three processes a core, and each of them computes, syncs small writes and
wakes another process up. The factor is the worst of the three, compared with one such process alone on a quiet machine of
two cores from 2026 (REFERENCE). A quiet machine of that kind comes to about 3, since three processes share a core.
"""
import hashlib
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

REFERENCE = {"work": 0.24, "syncs": 0.030, "wake-ups": 0.015}  # seconds
WORK_BYTES, SYNCS, WAKE_UPS = 4 << 20, 40, 1500
PROCESSES_PER_CORE, ROUNDS = 3, 3


def work():
    total, block = 0, bytes(WORK_BYTES)
    hashlib.sha256(block).digest()
    for number in range(200_000):
        total += number ^ (total >> 3)
    return total


def syncs(directory):
    """Small appends, each synced, as a journal makes them."""
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(4096))
            os.fdatasync(file.fileno())


def wake_ups():
    """Round trips between two processes."""
    (ours_in, theirs_out), (theirs_in, ours_out) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours_out)
        while os.read(theirs_in, 1):
            os.write(theirs_out, b"x")
        os._exit(0)
    for end in (theirs_in, theirs_out):
        os.close(end)
    for _ in range(WAKE_UPS):
        os.write(ours_out, b"x")
        os.read(ours_in, 1)
    os.close(ours_out)
    os.waitpid(child, 0)
    os.close(ours_in)


def one_process(directory):
    """Seconds of each part, the median of a few rounds."""
    seconds = {name: [] for name in REFERENCE}
    for _ in range(ROUNDS):
        for name, part in (("work", work), ("syncs", lambda: syncs(directory)), ("wake-ups", wake_ups)):
            began = time.perf_counter()
            part()
            seconds[name].append(time.perf_counter() - began)
    return {name: sorted(taken)[ROUNDS // 2] for name, taken in seconds.items()}


def slowness(directory, processes=PROCESSES_PER_CORE * (os.cpu_count() or 1)):
    """(factor, {part: its ratio}); the median over the processes, so that one unlucky process does not decide."""
    with ProcessPoolExecutor(processes) as pool:
        taken = list(pool.map(one_process, [str(directory)] * processes))
    ratios = {name: sorted(one[name] for one in taken)[processes // 2] / REFERENCE[name] for name in REFERENCE}
    return min(10.0, max(1.0, max(ratios.values()))), ratios


if __name__ == "__main__":
    print(one_process("."), slowness("."))
