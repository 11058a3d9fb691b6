"""A service with a configuration file that tests change, and functions that inspect the service."""
import http.client
import os
import re
import select
import ssl
import subprocess

from certificates import KEY, openssl
from harness import refusal


class Configured:
    def __init__(self, make, place, text="", tls=True):
        self.place, self.conf = place, place / "stampede.conf"
        self.cert, self.key = place / "cert.pem", place / "key.pem"
        self.text = (f"tls-cert = {self.cert}\ntls-key = {self.key}\n" if tls else "") + text
        self.renew("first")
        self.write()
        self.service = make(shards=1, options=["--config", str(self.conf)])

    def write(self, *lines):
        self.conf.write_text(self.text + "".join(line + "\n" for line in lines))

    def renew(self, name, days=30):
        """Replaces the certificate and key files with new ones."""
        openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", self.place / "new.key", "-out", self.place / "new.csr")
        openssl("x509", "-req", "-in", self.place / "new.csr", "-signkey", self.place / "new.key", "-days", days,
                "-out", self.place / "new.pem")
        os.replace(self.place / "new.pem", self.cert)
        os.replace(self.place / "new.key", self.key)

    def reload(self):
        return self.service.cli("reload")

    def is_refused(self, says):
        """Expects that reload exits with 1 and the reason, that one log line names it, and that the service is
        unchanged."""
        self.service.expect_log("event=reload_refused ")
        shown, before = self.shown(), self.service.status()
        refused = refusal(self.reload)
        assert says in refused.message, refused.message
        lines = [line for line in self.service.log_lines() if "event=reload_refused" in line]
        assert says in lines[-1] and "level=warn" in lines[-1]
        after = self.service.status()
        assert self.shown() == shown
        assert [after[key] for key in ("processes", "settings", "certificate")] == \
               [before[key] for key in ("processes", "settings", "certificate")]
        return refused

    def shown(self):
        """The name in the certificate shown to a new connection; None without TLS."""
        if "tls-cert" not in self.text:
            return None
        context = trusting_nobody()
        with http_connection(self.service, context) as connection:
            connection.connect()
            der = connection.sock.getpeercert(binary_form=True)
        text = subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-subject"], input=der, capture_output=True,
                              check=True).stdout.decode()
        return re.search(r"CN\s*=\s*(\S+)", text)[1]


def trusting_nobody():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def readable(sock):
    return select.select([sock], [], [], 0)[0]


class http_connection(http.client.HTTPSConnection):
    def __init__(self, service, context):
        super().__init__(*service.http, timeout=15, context=context)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def metric(service, name):
    with service.admin() as admin:
        found = re.search(rf"^{name} (\S+)$", admin.get("/metrics").body.decode(), re.M)
    return float(found[1]) if found else None
