"""Credentials for wallets as a test makes them: a chain like Apple's, signed by an imitation of its WWDR certificate, and the key
file of a Google service account. Everything is made with openssl and thrown away, except keys: to make one takes as long as
to start a service, so all runs of a build share a few."""
import fcntl
import json
import re
import shutil
from pathlib import Path

from certificates import openssl
from harness import build_directory

MARK = "1.2.840.113635.100.6.1.16"
TEAM = "ABCDE12345"
APPLE = {"pass_type_id", "team_id", "not_before", "not_after", "wwdr_not_after", "generation", "state", "last_error", "warnings"}
GOOGLE = {"issuer_id", "client_email", "generation", "state", "last_error"}
EMAIL = "passes@shop.iam.gserviceaccount.com"
ISSUER = "3388000000012345678"
KEYS = 8  # of a kind: a certificate's key differs from the 7 before it
RSA = ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")


def kept_key(kind, name):
    """The file of a key, which is made at its first use. Other processes wait for it."""
    place = build_directory() / "scenario-keys"
    place.mkdir(parents=True, exist_ok=True)
    key = place / f"{'-'.join(word.strip('-').replace(':', '-') for word in kind)}-{name}"
    with open(f"{key}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not key.exists():
            openssl("genpkey", *kind, "-out", f"{key}.new")
            Path(f"{key}.new").rename(key)
    return key


class Apple:
    """Makes certificates of pass types below a directory."""

    def __init__(self, place):
        self.place = Path(place)
        self.place.mkdir(parents=True, exist_ok=True)
        self.count = self.keys = self.authorities = 0
        self.wwdr = self.authority("G4")

    def file(self, ending):
        self.count += 1
        return self.place / f"{self.count}.{ending}"

    def key(self, *kind):
        """A copy of a key that is not one of the last few."""
        self.keys += 1
        return Path(shutil.copy(kept_key(kind or RSA, self.keys % KEYS), self.file("key")))

    def p8(self):
        return self.key("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1")

    def authority(self, generation, days=900):
        """The certificate. Its key differs from those of all other authorities, also of the same name."""
        made = self.file("pem")
        self.authorities += 1
        key = kept_key(RSA, f"authority-{self.authorities}")
        request, extensions = self.file("csr"), self.file("ext")
        openssl("req", "-new", "-key", key, "-out", request,
                "-subj", f"/CN=Imitated WWDR{f'/OU={generation}' if generation else ''}/O=Tests")
        extensions.write_text("basicConstraints=critical,CA:TRUE\n")
        openssl("x509", "-req", "-in", request, "-signkey", key, "-days", days, "-extfile", extensions, "-out", made)
        made.with_suffix(".of").write_text(str(key))
        return made

    def make(self, pass_type="pass.example.shop", days=300, key=None, wwdr=None, team=TEAM, marked=True):
        """(certificate, key). With `days` -1 it expired yesterday."""
        key, wwdr = key or self.key(), wwdr or self.wwdr
        request, made, extensions = self.file("csr"), self.file("pem"), self.file("ext")
        names = [("UID", pass_type), ("CN", "Pass Type ID"), ("OU", team), ("O", "Tests")]
        subject = "".join(f"/{name}={value}" for name, value in names if value)
        openssl("req", "-new", "-key", key, "-subj", subject, "-out", request)
        extensions.write_text(f"{MARK}=ASN1:UTF8String:{pass_type}\n" if marked else "basicConstraints=CA:FALSE\n")
        openssl("x509", "-req", "-in", request, "-CA", wwdr, "-CAkey", wwdr.with_suffix(".of").read_text(), "-set_serial",
                self.count, "-days", days, "-extfile", extensions, "-out", made)
        return made, key

    def options(self, *arguments, **changes):
        """Options of `wallet apple put` for a certificate."""
        made, key = self.make(*arguments, **changes)
        return ["--cert", made, "--key", key, "--wwdr", changes.get("wwdr") or self.wwdr]


def google(place, key, name="google.json", **changes):
    """The file of a service account; `changes` replace members, None removes one."""
    file = {"type": "service_account", "project_id": "shop", "private_key_id": "0123456789abcdef", "client_email": EMAIL,
            "private_key": Path(key).read_text(), "token_uri": "https://oauth2.googleapis.com/token", **changes}
    path = Path(place) / name
    path.write_text(json.dumps({member: value for member, value in file.items() if value is not None}))
    return path


def lines_of_key(key):
    """The lines of a PEM file between its first and its last."""
    return Path(key).read_text().split("\n")[1:-2]


def put(shop, *options):
    return shop.service.cli("wallet", "apple", "put", shop.account, *options)


def show(shop, platform="apple"):
    return shop.service.cli("wallet", platform, "show", shop.account)


def refused(service, *arguments):
    """The error of a command that exits with 1 and prints nothing."""
    done = service.run(*arguments)
    assert (done.returncode, done.stdout) == (1, ""), done
    return json.loads(done.stderr)


def is_missing(service, *arguments):
    error = refused(service, *arguments)
    return set(error) == {"code", "message"} and error["code"] == "RESOURCE_NOT_FOUND" and bool(re.match(
        r"No (Apple credential is stored|Google credential is stored|credential serves the wallets)", error["message"]))


def put_google(shop, file, issuer=ISSUER):
    return shop.service.cli("wallet", "google", "put", shop.account, "--service-account", file, "--issuer", issuer)
