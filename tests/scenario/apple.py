"""A chain like Apple's, made for the run: a root, an imitated WWDR certificate, and pass type certificates."""
from certificates import openssl

RSA = ("-newkey", "rsa:2048", "-nodes")
EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class AppleChain:
    """`certificate` and `key` are of the pass type, in PEM; `root` is what a phone trusts."""

    def __init__(self, place, pass_type="pass.example.stampede", team="ABCDE12345", kind=RSA, days=400):
        self.place, self.pass_type, self.team = place, pass_type, team
        place.mkdir(parents=True, exist_ok=True)
        self.root, self.wwdr, self.certificate = place / "root.pem", place / "wwdr.pem", place / "pass.pem"
        self.key = place / "pass.key"
        openssl("req", "-x509", *RSA, "-days", "500", "-subj", "/CN=Root/OU=Tests", "-keyout", place / "root.key", "-out", self.root,
                "-addext", "basicConstraints=critical,CA:TRUE")
        self.sign("wwdr", "/CN=Imitated WWDR/OU=G4/O=Tests", "root",
                  "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign", RSA, 450)
        self.renew(kind, days)

    def sign(self, name, subject, by, extensions, kind, days):
        request, file = self.place / f"{name}.csr", self.place / f"{name}.ext"
        file.write_text(extensions + "\n")
        openssl("req", *kind, "-subj", subject, "-keyout", self.place / f"{name}.key", "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.place / f"{by}.pem", "-CAkey", self.place / f"{by}.key",
                "-CAcreateserial", "-days", days, "-extfile", file, "-out", self.place / f"{name}.pem")

    def renew(self, kind=RSA, days=400):
        """Another certificate of the same pass type, with a key of its own."""
        self.sign("pass", f"/UID={self.pass_type}/CN=Pass Type ID: {self.pass_type}/OU={self.team}/O=Tests/C=MX", "wwdr",
                  "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                  "extendedKeyUsage=clientAuth,1.2.840.113635.100.4.14\n"
                  f"1.2.840.113635.100.6.1.16=ASN1:UTF8String:{self.pass_type}", kind, days)

    def files(self):
        return ["--cert", self.certificate, "--key", self.key, "--wwdr", self.wwdr]
