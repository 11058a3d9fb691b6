"""A small disk of a test's own, to be filled, and what works on it.

Disk: a tmpfs or an ext4 in a file, mounted where a test's data directory is to be. fill() takes what is free, to the
last byte or down to what is to be left; drain() gives it back.
"""
import errno
import os
import subprocess
from pathlib import Path

KINDS = ("tmpfs", "ext4")
PIECE = bytes(1 << 20)
MIB = 1 << 20


class NotPermitted(Exception):
    """This user may not mount: the test cannot run here."""


def run_quietly(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotPermitted(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


class Disk:
    """Mounted by mount(); unmount() leaves nothing behind."""

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
        """Takes space until `leave` bytes are free; 0: until not one more byte can be written."""
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
    """Large passes of one account: what a disk is filled with through the service itself."""

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
        """Creates until that is refused for want of space; returns the refusal."""
        for _ in range(at_most):
            answer = self.try_create()
            if answer.status != 201:
                return answer
        raise AssertionError(f"{at_most} passes of {len(self.text)} bytes, and the disk is not full")

    def delete_one(self):
        name = self.kept.pop()
        self.shop.delete(name)
        self.shop.client.get(f"/v1/passes/{name}").is_error(404, "RESOURCE_NOT_FOUND")

    def look(self):
        """Each is there, whole."""
        for name in self.kept:
            shown = self.shop.get(name)
            assert shown["hidden"] == {"is": name, "text": self.text}, name
