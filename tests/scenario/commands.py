"""The operator's commands, run by forks of one process (model/commands.c). This avoids the start-up time of a new
process for each command, which would be a third of the scenarios' time."""
import os
import select
import struct
import subprocess
import threading
import time


def sized(data):
    return struct.pack("<I", len(data)) + data


class Commands:
    """One such process. Results arrive in the order in which the commands were sent."""

    def __init__(self, program, env=None):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0)
        self.answers = self.process.stdout.fileno()

    def send(self, arguments, stdin=None):
        words = [os.fsencode(str(word)) for word in arguments]
        self.process.stdin.write(struct.pack("<I", len(words)) + b"".join(map(sized, words)) + sized((stdin or "").encode()))

    def receive(self, seconds=None):
        """(exit status, stdout, stderr). Raises TimeoutError when the command takes too long, and ends the process."""
        end = None if seconds is None else time.monotonic() + seconds
        return (*struct.unpack("<I", self.read(4, end)), self.read_sized(end), self.read_sized(end))

    def read_sized(self, end):
        return self.read(*struct.unpack("<I", self.read(4, end)), end)

    def read(self, size, end):
        data = b""
        while len(data) < size:
            if end is not None and not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                self.process.kill()
                raise TimeoutError("a command has no end")
            more = os.read(self.answers, size - len(data))
            if not more:
                raise EOFError("commands ended")
            data += more
        return data

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Pool:
    """One process for each thread that runs commands at the same time. They end with this process."""

    def __init__(self, program):
        self.program, self.free, self.lock = program, [], threading.Lock()

    def run(self, arguments, stdin, seconds):
        with self.lock:
            commands = self.free.pop() if self.free else None
        commands = commands or Commands(self.program)
        commands.send(arguments, stdin)
        answer = commands.receive(seconds)
        with self.lock:
            self.free.append(commands)
        return answer
