"""A package for Apple's wallet, read by hand: the archive, its manifest and its signature. Every fault is an assertion."""
import hashlib
import json
import re
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

LOCAL, CENTRAL, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
STYLES = ("storeCard", "generic", "coupon", "eventTicket", "boardingPass")
SECTIONS = ("headerFields", "primaryFields", "secondaryFields", "auxiliaryFields", "backFields")
COLOUR = re.compile(r"rgb\((\d{1,3}), (\d{1,3}), (\d{1,3})\)")


def entries_of(data):
    """The files of an archive, by name, in order. Local and central heads must agree, and nothing may lie between them."""
    end = len(data) - 22
    assert data[end:end + 4] == END and data[end + 20:] == b"\0\0", "it ends with the end of its directory"
    disk, start, here, count, size, at = struct.unpack("<HHHHII", data[end + 4:end + 20])
    assert (disk, start, here) == (0, 0, count) and at + size == end
    entries, following = {}, 0
    for _ in range(count):
        assert data[at:at + 4] == CENTRAL
        (made, needed, flags, method, hour, day, crc, packed, plain, name_size, extra, comment, disk, _, mode,
         local) = struct.unpack("<HHHHHHIIIHHHHHII", data[at + 4:at + 46])
        assert (flags, method, extra, comment, disk) == (0, 0, 0, 0, 0) and packed == plain, "stored"
        assert (made >> 8, mode >> 16) == (3, 0o100644)
        name = data[at + 46:at + 46 + name_size].decode("ascii")
        assert "/" not in name and ".." not in name and name not in entries, name
        assert local == following, "files lie side by side"
        assert data[local:local + 4] == LOCAL
        head = struct.unpack("<HHHHHIIIHH", data[local + 4:local + 30])
        assert head == (needed, flags, method, hour, day, crc, packed, plain, name_size, 0), name
        assert data[local + 30:local + 30 + name_size].decode("ascii") == name
        begin = local + 30 + name_size
        content = data[begin:begin + plain]
        assert len(content) == plain and zlib.crc32(content) == crc, name
        entries[name], following, at = content, begin + plain, at + 46 + name_size
    assert following == end - size, "the directory follows the last file"
    return entries


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


class Package:
    """A package that has been judged: `files`, `pass_json`, `style`, `fields` by key. `chain` has made its certificates."""

    def __init__(self, data, chain):
        self.data = data
        self.files = entries_of(data)
        self.pass_json = json.loads(self.files["pass.json"])
        self.check_manifest()
        self.check_signature(chain)
        self.check_pass(chain)
        self.check_pictures()

    def check_manifest(self):
        manifest = json.loads(self.files["manifest.json"])
        assert list(self.files)[-3:] == ["pass.json", "manifest.json", "signature"], "pictures come first"
        assert set(manifest) == set(self.files) - {"manifest.json", "signature"}
        for name, digest in manifest.items():
            assert hashlib.sha1(self.files[name]).hexdigest() == digest, name

    def check_signature(self, chain):
        with tempfile.TemporaryDirectory() as place:
            signature, manifest = Path(place, "s"), Path(place, "m")
            signature.write_bytes(self.files["signature"])
            manifest.write_bytes(self.files["manifest.json"])
            signers = Path(place, "signers")
            run = subprocess.run(["openssl", "cms", "-verify", "-binary", "-purpose", "any", "-inform", "DER", "-in", signature,
                                  "-content", manifest, "-CAfile", chain.root, "-signer", signers, "-out", "/dev/null"],
                                 capture_output=True, text=True, check=False)
            assert run.returncode == 0, run.stderr
            assert signers.read_text().split() == chain.certificate.read_text().split(), "signed by the credential's certificate"

    def check_pass(self, chain):
        """What phones ask for and no schema says."""
        pass_json = self.pass_json
        assert pass_json["formatVersion"] == 1
        for key in ("passTypeIdentifier", "teamIdentifier", "serialNumber", "organizationName", "description"):
            assert isinstance(pass_json[key], str) and pass_json[key], key
        assert (pass_json["passTypeIdentifier"], pass_json["teamIdentifier"]) == (chain.pass_type, chain.team)
        for key in ("backgroundColor", "foregroundColor", "labelColor"):
            if key in pass_json:
                assert all(int(part) < 256 for part in COLOUR.fullmatch(pass_json[key]).groups()), key
        [self.style] = [style for style in STYLES if style in pass_json]
        assert set(pass_json[self.style]) <= set(SECTIONS)
        fields = [field for section in pass_json[self.style].values() for field in section]
        self.fields = {field["key"]: field for field in fields}
        assert len(self.fields) == len(fields), "keys differ"
        told = [field["changeMessage"] for field in fields if "changeMessage" in field]
        assert len(told) <= 1 and all(text.count("%@") == 1 for text in told)
        assert ("webServiceURL" in pass_json) == ("authenticationToken" in pass_json)
        if "webServiceURL" in pass_json:
            assert re.fullmatch(r"https://.*[^/]", pass_json["webServiceURL"]) and len(pass_json["authenticationToken"]) >= 16

    def check_pictures(self):
        pictures = {name: png_size(data) for name, data in self.files.items() if name.endswith(".png")}
        for name, side in (("icon.png", 29), ("icon@2x.png", 58), ("icon@3x.png", 87)):
            assert pictures[name] == (side, side), name

    def section(self, name):
        return self.pass_json[self.style].get(name, [])
