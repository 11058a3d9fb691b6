"""An HTTP client for the interface: one kept-alive http.client connection, and answers that check their form.

Every answer must have X-Request-Id, and every error body must have the documented form. Answers to paths below /v1 are
validated against the OpenAPI document. Requests are never retried, so each request has one result; the durability
scenario depends on this.
"""
import http.client
import json
import time

from contract import hold
from patience import PATIENCE

IDLE_SECONDS = 3  # an older connection is replaced before use, because the server may close it at any time
ERROR_KEYS = {"code", "message", "request_id"}


class Answer:
    def __init__(self, status, headers, body, seconds):
        self.status = status
        self.headers = headers  # names in lower case
        self.body = body
        self.seconds = seconds

    @property
    def json(self):
        assert self.headers.get("content-type", "").startswith("application/json"), self
        return json.loads(self.body)

    def is_error(self, status, code, field=None):
        """Checks the whole error; with `field`, also that the error names this field. Returns the error body."""
        assert (self.status, self.body and self.json["code"]) == (status, code), self
        error = self.json
        assert set(error) - {"field"} == ERROR_KEYS, self
        assert error["request_id"] == self.headers["x-request-id"], self
        assert isinstance(error["message"], str) and error["message"], self
        if field is not None:
            assert error.get("field") == field, self
        return error

    def is_empty(self, status):
        assert (self.status, self.body) == (status, b""), self

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r} {self.headers}"


class Client:
    """`address` is (host, port) and may be changed after a restart. With request_ids=False answers need no
    X-Request-Id, for listeners other than the interface's."""

    def __init__(self, address, key, seconds=15, request_ids=True, tls=None):
        self.address = address
        self.key = key
        self.seconds = seconds * PATIENCE
        self.request_ids = request_ids
        self.tls = tls
        self.connection = self.connected_to = None
        self.last_used = self.sent_at = 0.0
        self.asked = None  # method, target and body of the outstanding request

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def connect(self):
        fresh = time.monotonic() - self.last_used < IDLE_SECONDS
        if self.connection is not None and fresh and self.connected_to == self.address:
            return
        self.close()
        if self.tls:
            connection = http.client.HTTPSConnection(*self.address, timeout=self.seconds, context=self.tls)
        else:
            connection = http.client.HTTPConnection(*self.address, timeout=self.seconds)
        connection.connect()
        self.connection, self.connected_to = connection, self.address

    def request(self, method, path, document=None, body=None, headers=None, key=None):
        """Sends `document` as JSON, or `body` unchanged and without a Content-Type. Raises OSError or HTTPException
        when the connection fails. If connect() had succeeded, the service may have executed the request."""
        self.send(method, path, document, body, headers, key)
        return self.receive()

    def send(self, method, path, document=None, body=None, headers=None, key=None):
        self.connect()
        head = dict(headers or {})
        key = self.key if key is None else key
        if key:
            head.setdefault("Authorization", f"Bearer {key}")
        if document is not None:
            body = json.dumps(document).encode()
            head.setdefault("Content-Type", "application/json")
        self.sent_at, self.asked = time.monotonic(), (method, path, body)
        self.guarded(lambda: self.connection.request(method, path, body=body, headers=head))

    def receive(self):
        """The answer to the request sent by send()."""
        response = self.guarded(self.connection.getresponse)
        content = self.guarded(response.read)
        self.last_used = time.monotonic()
        names = {name.lower(): value for name, value in response.getheaders()}
        answer = Answer(response.status, names, content, self.last_used - self.sent_at)
        if response.will_close:
            self.close()
        if self.request_ids:
            assert names.get("x-request-id"), answer
        if self.request_ids and self.asked[1].startswith("/v1/"):
            hold(self.asked, answer)
        return answer

    def guarded(self, step):
        try:
            return step()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def head(self, path, **options):
        return self.request("HEAD", path, **options)

    def post(self, path, document=None, **options):
        return self.request("POST", path, document, **options)

    def patch(self, path, document=None, **options):
        return self.request("PATCH", path, document, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    def post_raw(self, path, text, method="POST", **headers):
        """Sends text or bytes unchanged as application/json."""
        body = text.encode() if isinstance(text, str) else text
        return self.request(method, path, body=body, headers={"Content-Type": "application/json", **headers})
