"""An imitation of Google: the exchange of tokens, classes and objects of its wallet, its root keys, and what it says of passes."""
import base64
import json
import struct
import subprocess
import tempfile
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from certificates import openssl
from harness import wait_for
from wallets import EMAIL, ISSUER

SCOPE = "https://www.googleapis.com/auth/wallet_object.issuer"
STRANGER = "stranger@example.iam.gserviceaccount.com"  # a service account that the imitation does not know
EC = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1")


@dataclass
class Call:
    method: str
    path: str  # behind /walletobjects/v1/
    body: object
    answer: int
    at: float


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def read_jwt(token, public):
    """The claims of a token that is signed with RS256 by the private half of that key."""
    signed, signature = token.rsplit(".", 1)
    head, claims = (json.loads(from_base64url(part)) for part in signed.split("."))
    assert head == {"alg": "RS256", "typ": "JWT"}, head
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "signature").write_bytes(from_base64url(signature))
        done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", public, "-signature", f"{place}/signature"],
                              input=signed.encode(), capture_output=True)
    assert done.returncode == 0, "the signature holds"
    return claims


class Google:
    def __init__(self, place, key):
        self.place = Path(place)
        self.public = self.place / "service-account.pub"
        openssl("pkey", "-in", key, "-pubout", "-out", self.public)
        self.things, self.calls = {}, []
        self.answers = defaultdict(deque)  # by (method, kind): statuses to come, or functions of them; None: as usual
        self.lives = 3599  # of a token, seconds
        self.tokens, self.refuses_tokens, self.notices = 0, False, defaultdict(int)
        self.assertions = []
        self.unsaved = set()  # objects with "hasUsers": false
        self.says_users = True
        self.root, self.middle = self.pair("root"), self.pair("middle")
        self.serves_keys = True
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"google": self}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def options(self, *more):
        return ["--wallet-google", self.url, "--wallet-google-keys", self.url + "/keys", "--egress-allow-private", "--egress-allow",
                "127.0.0.0/8", "--public-url", "https://passes.example", *more]

    # Keys and callbacks

    def pair(self, name):
        key, public = self.place / f"{name}.key", self.place / f"{name}.der"
        openssl("genpkey", *EC, "-out", key)
        openssl("pkey", "-in", key, "-pubout", "-outform", "DER", "-out", public)
        return key, base64.b64encode(public.read_bytes()).decode()

    def keys(self):
        later = str(int((time.time() + 864000) * 1000))
        return {"keys": [{"keyValue": self.root[1], "protocolVersion": "ECv2SigningOnly", "keyExpiration": later}]}

    def sign(self, key, *texts):
        data = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in texts)
        done = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=data, capture_output=True, check=True)
        return base64.b64encode(done.stdout).decode()

    def callback(self, object_id, event, ends=60, issuer=ISSUER, by=None, **changes):
        """The body of a callback. `ends` in seconds from now."""
        version, sender, now = "ECv2SigningOnly", "GooglePayPasses", int(time.time() * 1000)
        signed_key = json.dumps({"keyValue": self.middle[1], "keyExpiration": str(now + 864000000)})
        message = json.dumps({"classId": f"{issuer}.class", "objectId": object_id, "eventType": event,
                              "expTimeMillis": now + int(ends * 1000), "nonce": f"{now}-{id(object())}", **changes})
        return {"signature": self.sign(self.middle[0], sender, issuer, version, message),
                "intermediateSigningKey": {"signedKey": signed_key,
                                           "signatures": [self.sign((by or self.root)[0], sender, version, signed_key)]},
                "protocolVersion": version, "signedMessage": message}

    def say(self, client, account, body):
        """Calls the service back. Until it has the root keys it answers 503."""
        wait_for(lambda: client.post(f"/wallet/google/{account}/callback", body).status == 200, 10, "the callback to be taken")

    def take(self, payload):
        """What a holder saves by a link is there from now on."""
        for kind, things in payload.items():
            for thing in things:
                self.things.setdefault((kind.removesuffix("es") if kind.endswith("Classes") else kind.removesuffix("s"), thing["id"]),
                                       thing)

    # What was called

    def of(self, method, kind):
        return [call for call in list(self.calls) if call.method == method and call.path.split("/")[0] == kind]

    def wait(self, method, kind, count=1, seconds=15):
        wait_for(lambda: len(self.of(method, kind)) >= count, seconds,
                 lambda: f"{method} {kind}; there are {[(call.method, call.path, call.answer) for call in self.calls]}")
        return self.of(method, kind)

    # Answers

    def exchange(self, form):
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        self.assertions.append(form["assertion"][0])
        if json.loads(from_base64url(form["assertion"][0].split(".")[1]))["iss"] == STRANGER:
            return 401, {"error": "unauthorized_client"}
        claims = read_jwt(form["assertion"][0], self.public)
        assert claims["iss"] == EMAIL and claims["scope"] == SCOPE and claims["aud"] == "https://oauth2.googleapis.com/token"
        assert claims["exp"] - claims["iat"] <= 3600 and abs(claims["iat"] - time.time()) < 60
        if self.refuses_tokens:
            return 400, {"error": "invalid_grant"}
        self.tokens += 1
        return 200, {"access_token": f"ya29.{self.tokens}", "expires_in": self.lives, "token_type": "Bearer"}

    def judge(self, method, path, body, bearer):
        if bearer != f"Bearer ya29.{self.tokens}":
            return 401, {}
        kind, _, rest = path.partition("/")
        name, _, verb = rest.partition("/")
        waiting = self.answers[method, kind + ("/" + verb if verb else "")]
        if waiting:
            answer = waiting.popleft()
            answer = answer() if callable(answer) else answer
            if answer:
                return answer, {}
        if method == "GET":
            return (200, {"resources": []}) if kind == f"genericClass?maxResults=1&issuerId={ISSUER}" else (404, {})
        if method == "POST" and not name:
            if (kind, body["id"]) in self.things:
                return 409, {}
            if kind == "loyaltyClass":
                assert body["reviewStatus"] == "UNDER_REVIEW" and body["programLogo"]["sourceUri"]["uri"]
            self.things[kind, body["id"]] = body
            return 200, body
        if (kind, name) not in self.things:
            return 404, {}
        if verb == "addMessage":
            message = body["message"]
            if message["messageType"] == "TEXT_AND_NOTIFY":
                self.notices[name] += 1
            return 200, {"resource": self.things[kind, name]}
        self.things[kind, name] = {**self.things[kind, name], **body}
        users = {"hasUsers": name not in self.unsaved} if self.says_users else {}
        return 200, {**self.things[kind, name], **users}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    google = None

    def log_message(self, *words):
        pass

    def take(self, method):
        google, text = self.google, self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        if self.path == "/keys":
            status, answer = (200, google.keys()) if google.serves_keys else (503, {})
        elif self.path == "/token":
            status, answer = google.exchange(parse_qs(text))
        else:
            path = self.path.removeprefix("/walletobjects/v1/")
            body = json.loads(text or "null")
            status, answer = google.judge(method, path, body, self.headers.get("authorization"))
            google.calls.append(Call(method, path, body, status, time.monotonic()))
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.take("GET")

    def do_POST(self):
        self.take("POST")

    def do_PATCH(self):
        self.take("PATCH")
