"""Test certificates: a root, an intermediate authority and leaves, made with openssl in a directory."""
import subprocess
from pathlib import Path

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl(*words, text=None):
    subprocess.run(["openssl", *map(str, words)], input=text, check=True, capture_output=True, text=True)


class Authority:
    """`root` is the file that clients trust. The chain of a leaf includes the certificate of the intermediate
    authority."""

    def __init__(self, place, name="test root"):
        self.place = Path(place)
        self.place.mkdir(parents=True, exist_ok=True)
        self.root = self.place / "root.pem"
        openssl("req", "-x509", *KEY, "-days", "30", "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE",
                "-keyout", self.place / "root.key", "-out", self.root)
        self.below = self._sign("authority", "root", "basicConstraints=critical,CA:TRUE,pathlen:0", 30)

    def _sign(self, name, by, extension, days, begins=None):
        request, certificate = self.place / f"{name}.csr", self.place / f"{name}.pem"
        openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", self.place / f"{name}.key", "-out", request)
        extensions = self.place / f"{name}.ext"
        extensions.write_text(extension + "\n")
        if begins:
            self._sign_later(request, certificate, by, extensions, begins)
            return certificate
        openssl("x509", "-req", "-in", request, "-CA", self.place / f"{by}.pem", "-CAkey", self.place / f"{by}.key",
                "-CAcreateserial", "-days", days, "-extfile", extensions, "-out", certificate)
        return certificate

    def _sign_later(self, request, certificate, by, extensions, begins):
        """Uses `openssl ca`, the only command that accepts a start date."""
        (self.place / "index").write_text("")
        (self.place / "serial").write_text("77\n")
        config = self.place / "ca.conf"
        config.write_text(f"[ca]\ndefault_ca=c\n[c]\ndatabase={self.place}/index\nserial={self.place}/serial\n"
                          f"new_certs_dir={self.place}\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
        openssl("ca", "-batch", "-notext", "-config", config, "-cert", self.place / f"{by}.pem", "-keyfile", self.place / f"{by}.key",
                "-startdate", begins, "-enddate", "21000101000000Z", "-extfile", extensions, "-in", request, "-out", certificate)

    def own(self, name="own"):
        """(certificate, key), self-signed."""
        openssl("req", "-x509", *KEY, "-days", "30", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", self.place / f"{name}.key", "-out", self.place / f"{name}.pem")
        return self.place / f"{name}.pem", self.place / f"{name}.key"

    def leaf(self, name="leaf", names="DNS:localhost,DNS:*.hooks.test,IP:127.0.0.1,IP:::1", days=30, chain=True, begins=None):
        """(certificate chain, key). With `days` -1 the certificate expired yesterday. With `chain` False the
        intermediate certificate is left out. `begins` is the start of validity, YYYYMMDDHHMMSSZ."""
        leaf = self._sign(name, "authority", f"subjectAltName={names}", days, begins)
        if chain:
            leaf.write_text(leaf.read_text() + self.below.read_text())
        return leaf, self.place / f"{name}.key"
