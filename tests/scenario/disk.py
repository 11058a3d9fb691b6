"""A small disk for one test, to be filled, and clients that fill it.

Disk: a tmpfs, or an ext4 in a file, mounted on a test's data directory. fill() allocates the free space, completely or
down to a remainder; drain() releases it.
"""
import errno
import os
import subprocess
from pathlib import Path

KINDS = ("tmpfs", "ext4")
PIECE = bytes(1 << 20)
MIB = 1 << 20


class NotPermitted(Exception):
    """This user cannot mount file systems, so the test cannot run."""


def run_quietly(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotPermitted(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


class Disk:
    """Mounted by mount(); unmount() removes everything."""

    def __init__(self, kind, at, mib):
        self.kind = kind
        self.at = Path(at)
        self.mib = mib
        self.image = self.at.with_name(self.at.name + ".img")
        self.is_mounted = False

    def mount(self):
        self.at.mkdir(exist_ok=True)
        if self.kind == "tmpfs":
            run_quietly("mount", "-t", "tmpfs", "-o", f"size={self.mib}m,mode=0700", "tmpfs", self.at)
        else:
            with open(self.image, "wb") as image:
                image.truncate(self.mib * MIB)
            run_quietly("mkfs.ext4", "-q", "-m", "0", self.image)
            run_quietly("mount", "-o", "loop", self.image, self.at)
        self.is_mounted = True
        return self

    def unmount(self):
        if self.is_mounted:
            run_quietly("umount", self.at)
            self.is_mounted = False
        self.image.unlink(missing_ok=True)
        if self.at.exists():
            self.at.rmdir()

    @property
    def filler(self):
        return self.at / "lost+found" / "filler"

    def free_bytes(self):
        disk = os.statvfs(self.at)
        return disk.f_bavail * disk.f_frsize

    def fill(self, leave=0):
        """Allocates space until `leave` bytes are free. With 0 not one more byte can be written."""
        self.filler.parent.mkdir(exist_ok=True)
        with open(self.filler, "ab", buffering=0) as file:
            size = len(PIECE)
            while leave == 0 or self.free_bytes() > leave:
                try:
                    file.write(PIECE[:size])
                except OSError as error:
                    assert error.errno == errno.ENOSPC, error
                    if leave or size == 1:
                        return
                    size = max(1, size // 16)

    def drain(self):
        self.filler.unlink()


class Ballast:
    """Large passes of one account, which fill the disk through the service itself."""

    def __init__(self, shop, kib=256):
        self.shop = shop
        self.text = "b" * (kib << 10)
        self.kept = []
        self.count = 0

    def try_create(self):
        self.count += 1
        name = f"ballast-{self.count}"
        body = {"pass_id": name, "visible": {"name": name}, "hidden": {"is": name, "text": self.text}}
        answer = self.shop.client.post("/v1/passes", body)
        if answer.status == 201:
            self.kept.append(name)
        return answer

    def until_full(self, at_most=4000):
        """Creates passes until one is refused because the disk is full. Returns the refusal."""
        for _ in range(at_most):
            answer = self.try_create()
            if answer.status != 201:
                return answer
        raise AssertionError(f"the disk is not full after {at_most} passes of {len(self.text)} bytes")

    def delete_one(self):
        name = self.kept.pop()
        self.shop.delete(name)
        self.shop.client.get(f"/v1/passes/{name}").is_error(404, "RESOURCE_NOT_FOUND")

    def look(self):
        """Every created pass must be present and complete."""
        for name in self.kept:
            shown = self.shop.get(name)
            assert shown["hidden"] == {"is": name, "text": self.text}, name
