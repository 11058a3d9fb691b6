"""The configurations of ops/docs/proxy.md, run with the proxies themselves where they are installed."""
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import closing

import pytest
from harness import ROOT, wait_for
from patience import PATIENCE
from shop import Shop, path_of

pytestmark = pytest.mark.plain  # it is the proxies that are tested

PAGE = (ROOT / "ops/docs/proxy.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
NGINX = """daemon off;
user root;
pid {place}/pid;
error_log {place}/error;
events {{}}
http {{
    access_log off;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
{servers}
}}
"""


def replaced(text, *pairs):
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def free_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


def nginx(block, place, service, port, certificate):
    servers = replaced(block, ("127.0.0.1:8080", f"127.0.0.1:{service.http[1]}"), ("listen 443 ", f"listen 127.0.0.1:{port} "),
                       ("/etc/nginx/chain.pem", str(certificate[0])), ("/etc/nginx/key.pem", str(certificate[1])))
    (place / "conf").write_text(NGINX.format(place=place, servers=servers))
    return ["nginx", "-p", place, "-e", place / "error", "-c", place / "conf"]


def haproxy(block, place, service, port, certificate):
    (place / "both.pem").write_text("".join(path.read_text() for path in certificate))
    (place / "conf").write_text(replaced(
        block, ("127.0.0.1:8080", f"127.0.0.1:{service.http[1]}"), ("port 9090", f"port {service.admin_address[1]}"),
        ("bind :443", f"bind 127.0.0.1:{port}"), ("/etc/haproxy/passes.pem", str(place / "both.pem"))))
    return ["haproxy", "-db", "-f", place / "conf"]


class Front:
    """A proxy in front of a service, with a shop behind it."""

    def __init__(self, which, place, service, certificate):
        (block,) = [text for language, text in BLOCK.findall(PAGE) if language == which]
        self.port = free_port()
        command = {"nginx": nginx, "haproxy": haproxy}[which](block, place, service, self.port, certificate)
        self.log = place / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.shop = Shop(service, ("balance",))
        tls = ssl.create_default_context(cafile=certificate[0])
        self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=15 * PATIENCE, context=tls)
        wait_for(self.answers, 15, self.log.read_text)

    def ask(self, method, path, document=None, **headers):
        """Status, headers and value of the answer. Not with the tests' client: a proxy adds headers of its own."""
        body = None if document is None else json.dumps(document)
        kind = {} if document is None else {"Content-Type": "application/json"}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path, body, {"Authorization": f"Bearer {self.shop.key}", **kind, **names})
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, answer.headers, json.loads(text) if text else None

    def answers(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.ask("GET", "/v1/passes")[0] == 200
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return False

    def close(self):
        self.connection.close()
        self.shop.close()
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture(params=["nginx", "haproxy"])
def front(request, new_service, certificate, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    options = next(text for language, text in BLOCK.findall(PAGE) if "keep-alive = " in text)
    config = tmp_path / "stampede.conf"
    config.write_text("\n".join(line for line in options.splitlines() if not line.startswith("listen")))
    made = Front(request.param, tmp_path, new_service(shards=1, options=("--config", config)), certificate)
    yield made
    made.close()


def test_requests_arrive_as_they_were_sent(front):
    odd, body = "a/b c%ñ", {"pass_id": "a/b c%ñ", "visible": {"name": "Ada"}}
    made = front.ask("POST", "/v1/passes", body, Idempotency_Key="k")
    again = front.ask("POST", "/v1/passes", body, Idempotency_Key="k")
    assert (made[0], again[0]) == (201, 201) and made[2] == again[2]
    assert front.ask("GET", path_of(odd))[2]["id"] == made[2]["id"]
    assert front.ask("POST", path_of(odd, "/loyalty"), {"balance_to_add": 3})[0] == 202
    assert front.ask("GET", path_of(odd))[2]["balance"] == 3
    assert front.ask("DELETE", path_of(odd))[0] == 204


def test_a_request_has_the_same_id_at_both_ends(front):
    status, headers, error = front.ask("GET", "/v1/passes/none")
    assert status == 404 and error["request_id"] == headers["x-request-id"]


def test_the_service_itself_refuses_large_bodies(front):
    status, _, error = front.ask("POST", "/v1/passes", {"pass_id": "p", "hidden": {"x": "y" * (16 << 20)}})
    assert (status, error["code"]) == (413, "PAYLOAD_TOO_LARGE")
    large = {"pass_id": "q", "visible": {"name": "Ada"}, "hidden": {"x": "y" * (900 << 10)}}
    assert front.ask("POST", "/v1/passes", large)[0] == 201
    assert front.ask("GET", path_of("q"))[2]["hidden"] == large["hidden"]


def test_clients_may_speak_http_2(front):
    done = subprocess.run(["curl", "--silent", "--insecure", "--http2", "--write-out", "%{http_version} %{http_code}", "--output", "/dev/null",
                           "--header", f"Authorization: Bearer {front.shop.key}", f"https://127.0.0.1:{front.port}/v1/passes"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == "2 200"
