"""Runs pages of documentation as a reader would: each shell block is pasted into one bash in a directory like a clone,
and its output is compared with the output block below it.

    ```sh    is run; `./ops/run ...` runs in its own terminal and stays there
    ```      the output of the block above; a block without one prints nothing

Ids, times, ports, links and secrets differ between runs and compare as equal (VARYING).
"""
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

from harness import ROOT, program_under_test, wait_for

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
VARYING = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b(acc|tpl)_[a-z2-7]{16}"), r"\1_ACCOUNT"),
    (re.compile(r"\bwhsec_[A-Za-z0-9+/]+=*"), "SECRET"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"), "TIME"),
    (re.compile(r"/p/[\w-]{22}"), "/p/TOKEN"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
]
BLOCK_SECONDS = 60


def blocks_of(page):
    """[(shell block, the output on the page)], in order."""
    found = []
    for language, text in FENCE.findall((ROOT / page).read_text()):
        if language == "sh":
            found.append([text, ""])
        elif not language:
            assert found and not found[-1][1], f"{page}: an output without a block above it:\n{text}"
            found[-1][1] = text
    return found


def alike(text):
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


class Tour:
    """A reader with two terminals in a clone: `service` runs in the first one, and blocks are pasted into the second
    one."""

    def __init__(self, service):
        self.service = service
        self.clone = service.home
        service.data = self.clone / "var"
        (self.clone / "build").mkdir()
        (self.clone / "build" / "stampede").symlink_to(program_under_test())
        (self.clone / "ops").symlink_to(ROOT / "ops")
        service.variables["STAMPEDE_PROGRAM"] = str(program_under_test())
        self.pasted = 0
        self.out_path = self.clone / "terminal"
        with open(self.out_path, "wb") as out:
            # Without the service's mark, since it outlives the first service.
            self.shell = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=self.clone, stdin=subprocess.PIPE, stdout=out,
                                          stderr=subprocess.STDOUT, start_new_session=True)

    def serve(self, line):
        """Runs `./ops/run` with options, in place of the previous service. Returns its output."""
        if self.service.process is not None:
            assert self.service.stop(signal.SIGINT) == 0
        ports = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        self.service.start(wait=False, command=["env", "-C", self.clone, *shlex.split(line), *ports])

        def printed():
            assert self.service.process.poll() is None, self.service.log_tail()
            text = self.service.out_path.read_text()
            return "Ctrl-C" in text and text

        return wait_for(printed, 30, "what ops/run prints")

    def paste(self, block):
        """Runs a block in the second terminal. Returns its output."""
        self.pasted += 1
        script = self.clone / f"block-{self.pasted}"
        script.write_text(block)
        before, end = self.out_path.stat().st_size, f"== end of {script.name} ==\n"
        self.shell.stdin.write(f". ./{script.name} </dev/null; echo '{end.strip()}'\n".encode())
        self.shell.stdin.flush()

        def printed():
            assert self.shell.poll() is None, f"the shell has ended:\n{self.seen(before)}"
            return self.seen(before).endswith(end)

        wait_for(printed, BLOCK_SECONDS, lambda: f"the end of:\n{block}\nwhich printed:\n{self.seen(before)}")
        return self.seen(before).removesuffix(end)

    def seen(self, offset):
        with open(self.out_path, encoding="utf-8") as out:
            out.seek(offset)
            return out.read()

    def follow(self, page):
        """Runs the whole page. A page that starts no service uses a running one."""
        blocks = blocks_of(page)
        assert blocks, f"{page} has no block to run"
        if not blocks[0][0].startswith("./ops/run"):
            self.serve("./ops/run")
        for block, expected in blocks:
            if block.startswith("./ops/run"):
                self.serve(block)
                continue
            got = self.paste(block)
            assert alike(got).splitlines() == alike(expected).splitlines(), f"{page}:\n{block}\nprinted:\n{got}"

    def close(self):
        os.killpg(self.shell.pid, signal.SIGKILL)
        self.shell.stdin.close()
        self.shell.wait()


def start_lines():
    """The lines of the README's start that ops/run prints too, with their variables."""
    text = Path(ROOT / "README.md").read_text()
    return re.findall(r"^curl .*$", text, re.M)
