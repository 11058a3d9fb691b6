"""Commands of the operator, run by processes that are not started again for each command."""

import concurrent.futures
import json
import sys
import threading

import bench
from bench import Failed

sys.path.append(f"{bench.ROOT}/tests/scenario")
from commands import Commands  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = "tests/model/commands"
COMMAND_SECONDS_MAX = 120


class Operator:
    """Runs commands in a process of its own."""

    def __init__(self, build, data):
        self.commands, self.data = Commands(f"{build}/{PROGRAM}"), data

    def __call__(self, *words, stdin=None):
        self.commands.send([*words, "--data", self.data], stdin)
        status, out, why = self.commands.receive(COMMAND_SECONDS_MAX)
        if status:
            raise Failed(f"{' '.join(words[:3])}: {why.decode().strip()}")
        return json.loads(out) if out.strip() else None

    def close(self):
        self.commands.close()


def each_of(build, data, items, act, threads=4):
    """The results of act(operator, item), in the order of the items. Each thread has its own operator."""
    own, operators, lock = threading.local(), [], threading.Lock()

    def run(item):
        if not hasattr(own, "operator"):
            own.operator = Operator(build, data)
            with lock:
                operators.append(own.operator)
        return act(own.operator, item)
    try:
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(run, items))
    finally:
        for operator in operators:
            operator.close()
