"""Data directories as files: copied, compared, and changed with knowledge of their format.

The formats are implemented from store/format.md; no code of the program is used.
"""
import contextlib
import fcntl
import hashlib
import re
import stat
import struct
import subprocess

from harness import wait_for
from patience import PATIENCE

BLOCK = 4096
PIECE = 1 << 18
ZEROS = bytes(PIECE)
F_OFD_SETLK = 37
NO_DATA = ("lock", "run", "lock.mdb")  # locks and sockets, which a directory may or may not have


@contextlib.contextmanager
def locked(path):
    """Holds the lock of a file as a process of the program does."""
    with open(path, "w") as held:
        fcntl.fcntl(held, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        yield


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = crc32c_table()


# Whole directories

def copy(source, to, is_served=False):
    """Copies a directory. A running service may delete a new segment's temporary name between its listing and its
    opening."""
    said = subprocess.run(["cp", "-a", "--sparse=always", source, to], check=False, stderr=subprocess.PIPE, text=True)
    gone = [line for line in said.stderr.splitlines() if is_served and "next.tmp" in line and "No such file" in line]
    assert said.returncode == (1 if gone else 0) and len(gone) == len(said.stderr.splitlines()), said.stderr


def copy_by_tar(source, to):
    """Copies with tar: only names, bytes and modes are kept."""
    to.mkdir()
    archive = to.with_suffix(".tar")
    subprocess.run(["tar", "-C", source, "-S", "-cf", archive, "."], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["tar", "-C", to, "-xf", archive], check=True)
    archive.unlink()


def written(file):
    """The non-zero parts of a file, as pairs of offset and bytes. Most of a journal segment is zeros."""
    with open(file, "rb", buffering=0) as opened:
        at = 0
        while piece := opened.read(PIECE):
            if piece != (ZEROS if len(piece) == PIECE else ZEROS[:len(piece)]):
                yield at, piece
            at += len(piece)


def digest(file):
    """Covers the file's size and bytes."""
    sum_of_all = hashlib.sha256(str(file.stat().st_size).encode())
    for at, piece in written(file):
        sum_of_all.update(b"%d:" % at + piece)
    return sum_of_all.hexdigest()


def tree(root):
    """All files with their contents, {path: (mode, digest of the content)}, without locks and sockets."""
    shown = {}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if set(inside.parts) & set(NO_DATA) or not (path.is_file() or path.is_dir()):
            continue
        content = digest(path) if path.is_file() else "directory"
        shown[str(inside)] = (stat.S_IMODE(path.stat().st_mode), content)
    return shown


def difference(before, after):
    return sorted(path for path in set(before) | set(after) if before.get(path) != after.get(path))


def refusal(service, **options):
    """Starts a service that must refuse, name the word and change nothing. Returns the line that names it."""
    before = tree(service.data) if service.data.is_dir() else {}
    done = subprocess.run(service.command(), capture_output=True, text=True, timeout=30 * PATIENCE, check=False,
                          env=service.environment(), **options)
    assert (done.returncode, done.stdout) == (1, ""), done
    wait_for(lambda: not service.processes_alive(), 5, "all processes to end")
    after = tree(service.data) if service.data.is_dir() else {}
    assert difference(before, after) == []
    named = [line for line in done.stderr.splitlines() if "level=fatal" in line and "event=start_failed" not in line]
    assert len(named) == 1, done.stderr
    return named[0]


def refuses(service, *words, **options):
    line = refusal(service, **options)
    for word in words:
        assert re.search(word, line), f"{line} does not name {word}"


# Parts of a directory

def shard(service, index=0):
    return service.data / "shards" / str(index)


def segments(service, index=0):
    return sorted((shard(service, index) / "journal").glob("*.seg"))


def is_blank(segment):
    """True if the segment has only its head."""
    return not any(any(piece[max(0, BLOCK - at):]) for at, piece in written(segment))


def used_segments(service, index=0):
    return [segment for segment in segments(service, index) if not is_blank(segment)]


def record_offsets(segment):
    """The offsets of the segment's records."""
    data = segment.read_bytes()
    return [at for at in range(BLOCK, len(data), BLOCK) if data[at:at + 4] == b"STRC"]


def set_trust(service, index=0, **changes):
    """Writes a clean-shutdown marker with other contents and a valid checksum: one line, and a zero byte at its end."""
    mark = shard(service, index) / "trust"
    size = mark.stat().st_size
    facts = dict(fact.split("=", 1) for fact in mark.read_text().split() if "=" in fact)
    del facts["crc"]
    facts.update(changes)
    text = " ".join(f"{name}={value}" for name, value in facts.items())
    mark.write_text(f"{text} crc={crc32c(text.encode()):08x}".ljust(size - 2) + "\n\0")


def set_identity(service, **changes):
    """Writes an identity with other contents and a valid checksum. `version` is that of its first line; None removes a
    line."""
    file = service.data / "identity"
    lines = dict(line.split("=", 1) for line in file.read_text().splitlines())
    del lines["crc"]
    lines.update({{"version": "stampede-data"}.get(name, name): value for name, value in changes.items()})
    order = ["stampede-data", "lineage", "earlier", "master_key", "shards", "formatted"]
    text = "".join(f"{name}={lines[name]}\n" for name in order if lines.get(name) is not None)
    file.write_text(f"{text}crc={crc32c(text.encode()):08x}\n")


def flip(file, offset, bits=0x10):
    with open(file, "r+b") as opened:
        opened.seek(offset)
        byte = opened.read(1)[0]
        opened.seek(offset)
        opened.write(bytes([byte ^ bits]))


def byte_at(file, offset):
    with open(file, "rb") as opened:
        opened.seek(offset)
        return opened.read(1)
