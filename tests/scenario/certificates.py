"""Certificates as the world makes them: a root, an authority below it, and leaves; by openssl, into a directory."""
import subprocess
from pathlib import Path

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl(*words, text=None):
    subprocess.run(["openssl", *map(str, words)], input=text, check=True, capture_output=True, text=True)


class Authority:
    """`root` is the file that a client is to trust; leaves come with the authority's own certificate behind them."""

    def __init__(self, place, name="test root"):
        self.place = Path(place)
        self.place.mkdir(parents=True, exist_ok=True)
        self.root = self.place / "root.pem"
        openssl("req", "-x509", *KEY, "-days", "30", "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE",
                "-keyout", self.place / "root.key", "-out", self.root)
        self.below = self._sign("authority", "root", "basicConstraints=critical,CA:TRUE,pathlen:0", 30)

    def _sign(self, name, by, extension, days):
        request, certificate = self.place / f"{name}.csr", self.place / f"{name}.pem"
        openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", self.place / f"{name}.key", "-out", request)
        extensions = self.place / f"{name}.ext"
        extensions.write_text(extension + "\n")
        openssl("x509", "-req", "-in", request, "-CA", self.place / f"{by}.pem", "-CAkey", self.place / f"{by}.key",
                "-CAcreateserial", "-days", days, "-extfile", extensions, "-out", certificate)
        return certificate

    def leaf(self, name="leaf", names="DNS:localhost,DNS:*.hooks.test,IP:127.0.0.1,IP:::1", days=30, chain=True):
        """(certificate chain, key). `days` -1: it ended yesterday; `chain` False: the authority's own is left out."""
        leaf = self._sign(name, "authority", f"subjectAltName={names}", days)
        if chain:
            leaf.write_text(leaf.read_text() + self.below.read_text())
        return leaf, self.place / f"{name}.key"
