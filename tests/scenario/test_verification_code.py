"""http/webhooks.md: its verification functions run on a received delivery and on forged ones, for each language that is
installed."""
import base64
import hashlib
import hmac
import re
import shutil
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from deliveries import BALANCE, hooked_shop, options, posts_to
from hooks import subscribe
from receiver import Receiver

GUIDE = Path(__file__).resolve().parents[2] / "http" / "webhooks.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
CALLED_WITH = ("secret", "id", "timestamp", "signatures")
GENUINE, FORGED = "genuine\n", "forged\n"

# The caller of a function: it gets the secret and the three headers as arguments, and the body on stdin.
PYTHON = """
import sys
print("genuine" if is_genuine(*sys.argv[1:5], sys.stdin.buffer.read()) else "forged")
"""
JAVASCRIPT = """
const given = process.argv.slice(2, 6);
console.log(isGenuine(...given, require("node:fs").readFileSync(0)) ? "genuine" : "forged");
"""
PHP = """
echo is_genuine($argv[1], $argv[2], $argv[3], $argv[4], file_get_contents('php://stdin')) ? "genuine\\n" : "forged\\n";
"""
JAVA = """
final class Main {
    public static void main(String[] given) throws Exception {
        boolean genuine = Webhook.isGenuine(given[0], given[1], given[2], given[3], System.in.readAllBytes());
        System.out.print(genuine ? "genuine\\n" : "forged\\n");
    }
}
"""


def script(name, head=""):
    """A language with an interpreter: returns the command for a block and its caller."""
    def build(folder, text):
        file = folder / "verify"
        file.write_text(head + text)
        return [name, file]
    return build


def compiled_java(folder, text):
    file = folder / "Webhook.java"
    file.write_text(text)
    subprocess.run(["javac", "-d", folder, file], check=True)
    return ["java", "-cp", folder, "Main"]


LANGUAGES = {  # name of the block in the guide: the programs that it needs, its caller, how it is built
    "python": (["python3"], PYTHON, script("python3")),
    "javascript": (["node"], JAVASCRIPT, script("node")),
    "php": (["php"], PHP, script("php", "<?php\n")),
    "java": (["javac", "java"], JAVA, compiled_java),
}


def blocks():
    return {name: text for name, text in BLOCK.findall(GUIDE.read_text()) if name in LANGUAGES}


def test_the_guide_has_a_function_in_each_language():
    assert list(blocks()) == list(LANGUAGES)


@pytest.fixture(scope="module", params=LANGUAGES)
def verdict(request, tmp_path_factory):
    """The result of the guide's function for a delivery."""
    programs, caller, build = LANGUAGES[request.param]
    if missing := [program for program in programs if not shutil.which(program)]:
        pytest.skip(f"not installed: {' '.join(missing)}")
    command = build(tmp_path_factory.mktemp(request.param), blocks()[request.param] + caller)

    def run(delivery):
        given = [getattr(delivery, name) for name in CALLED_WITH]
        done = subprocess.run([*command, *given], input=delivery.body, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run


@pytest.fixture(scope="module")
def delivery(module_services, authority, chain):
    """A received delivery: its secret, headers and body."""
    service = module_services(options=options(authority))
    with Receiver(chain) as receiver:
        shop = hooked_shop(service)
        hook = subscribe(shop, receiver.url(), [BALANCE])
        shop.add(shop.create(visible={"name": "Zoë 🎟 \"\\"})["id"], 5)
        request = posts_to(receiver, "/status/200", 1)[0]
        shop.close()
    return SimpleNamespace(secret=hook["secret"], id=request.header("webhook-id"), timestamp=request.header("webhook-timestamp"),
                           signatures=request.header("webhook-signature"), body=request.body)


def changed(delivery, **values):
    return SimpleNamespace(**{**vars(delivery), **values})


def signed_at(delivery, timestamp):
    """The delivery with another timestamp, signed with the right secret."""
    key = base64.b64decode(delivery.secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{delivery.id}.{timestamp}.".encode() + delivery.body, hashlib.sha256)
    return changed(delivery, timestamp=timestamp, signatures="v1," + base64.b64encode(digest).decode())


def test_a_genuine_delivery_is_accepted(verdict, delivery):
    assert verdict(delivery) == GENUINE


def test_one_valid_signature_of_several_is_enough(verdict, delivery):
    other = "v1," + base64.b64encode(bytes(32)).decode()
    assert verdict(changed(delivery, signatures=f"{other} v2,x {delivery.signatures}")) == GENUINE
    assert verdict(changed(delivery, signatures=f"{other} v2,x")) == FORGED


FORGERIES = {
    "body": lambda it: changed(it, body=it.body.replace(b'"balance":5', b'"balance":9')),
    "body with a blank": lambda it: changed(it, body=it.body + b" "),
    "id": lambda it: changed(it, id=it.id[:-1] + ("0" if it.id[-1] != "0" else "1")),
    "timestamp": lambda it: changed(it, timestamp=str(int(it.timestamp) + 1)),
    "secret": lambda it: changed(it, secret="whsec_" + base64.b64encode(bytes(32)).decode()),
    "signature": lambda it: changed(it, signatures=it.signatures[:-2] + ("A=" if it.signatures[-2] != "A" else "E=")),
    "no signature": lambda it: changed(it, signatures=""),
    "signature without its version": lambda it: changed(it, signatures=it.signatures.removeprefix("v1,")),
    "sent an hour ago": lambda it: signed_at(it, str(int(time.time()) - 3600)),
    "sent in an hour": lambda it: signed_at(it, str(int(time.time()) + 3600)),
    "timestamp that is no number": lambda it: signed_at(it, "now"),
}


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_delivery_is_refused(verdict, delivery, name):
    forged = FORGERIES[name](delivery)
    assert vars(forged) != vars(delivery)
    assert verdict(forged) == FORGED


def test_a_delivery_signed_now_is_accepted(verdict, delivery):
    """Otherwise a function that refuses every other timestamp would pass."""
    assert verdict(signed_at(delivery, str(int(time.time()) - 60))) == GENUINE
