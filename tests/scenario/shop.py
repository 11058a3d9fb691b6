"""A shop: one account with a key, templates and a client. Most tests begin with one."""
import json
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from urllib.parse import quote

FIELDS = [
    {"key": "name", "label": "Name", "type": "text", "required": True, "max_length": 80},
    {"key": "visits", "label": "Visits", "type": "number"},
    {"key": "birthday", "label": "Birthday", "type": "date"},
    {"key": "site", "label": "Site", "type": "url"},
    {"key": "vip", "label": "VIP", "type": "boolean"},
]
COUNTER = {"key": "points", "label": "Points", "type": "number", "locked": True}
_number = count(1)


def template_file(loyalty_type="balance", **changes):
    """A template file in the operator's format. `changes` replace or add properties; None removes one."""
    fields = FIELDS if loyalty_type == "none" else [*FIELDS, COUNTER]
    file = {"name": f"Card {loyalty_type}", "loyalty_type": loyalty_type, "qr": True, "name_field": "name",
            "fields": fields, "appearance": {"background_color": "#112233", "title": "Card"}}
    file.update(changes)
    return {key: value for key, value in file.items() if value is not None}


def new_id(prefix="pass"):
    return f"{prefix}-{next(_number)}"


def at_once(shop, number, request):
    """Calls `request(client, n)` over `number` connections at once. Returns the answers."""
    clients, barrier = [shop.service.client(shop.key) for _ in range(number)], threading.Barrier(number)

    def send(n):
        clients[n].connect()
        barrier.wait(10)
        return request(clients[n], n)

    with ThreadPoolExecutor(number) as pool:
        answers = list(pool.map(send, range(number)))
    for client in clients:
        client.close()
    return answers


def path_of(pass_id, suffix=""):
    return f"/v1/passes/{quote(pass_id, safe='')}{suffix}"


class Shop:
    def __init__(self, service, templates=("balance",), name="Shop", functions=()):
        """`functions` to switch on, as options of the command line ("--webhooks")."""
        self.service = service
        made = service.cli("account", "create", "--name", name, *functions)
        self.account = made["account_id"]
        self.key = made["api_key"]
        self.client = service.client(self.key)
        self.templates = {kind: self.put_template(template_file(kind)) for kind in templates}

    def close(self):
        self.client.close()

    def put_template(self, file):
        put = self.service.cli("template", "put", self.account, "-", stdin=json.dumps(file))
        assert set(put) == {"pass_template_id"}
        return put["pass_template_id"]

    def set(self, *options):
        return self.service.cli("account", "set", self.account, *options)

    def event(self, pass_id, event, *options):
        return self.service.cli("pass", "event", self.account, pass_id, event, *options)

    def history(self, pass_id):
        return self.service.cli("pass", "history", self.account, pass_id)

    def create(self, pass_id=None, kind=None, **fields):
        """Creates a pass. Returns the pass of the 201 answer."""
        body = {"pass_id": pass_id or new_id(), "visible": {"name": "Ada"}, **fields}
        if kind:
            body["pass_template_id"] = self.templates[kind]
        answer = self.client.post("/v1/passes", body)
        assert answer.status == 201, answer
        return answer.json

    def get(self, pass_id, query=""):
        answer = self.client.get(path_of(pass_id) + query)
        assert answer.status == 200, answer
        return answer.json

    def try_add(self, pass_id, amount, **fields):
        return self.client.post(path_of(pass_id, "/loyalty"), {"balance_to_add": amount, **fields})

    def add(self, pass_id, amount, **fields):
        self.try_add(pass_id, amount, **fields).is_empty(202)

    def delete(self, pass_id):
        self.client.delete(path_of(pass_id)).is_empty(204)

    def list(self, query=""):
        """(passes, total count, has more) of a list."""
        answer = self.client.get("/v1/passes" + query)
        assert answer.status == 200, answer
        more = {"true": True, "false": False}[answer.headers["x-has-more"]]
        return answer.json, int(answer.headers["x-total-count"]), more


def clear_and_encrypted(services, certificate):
    """A shop of a service without TLS and one of a service with it, each with one shard, by name."""
    cert, key = certificate
    encrypted = Shop(services(shards=1, options=["--tls-cert", str(cert), "--tls-key", str(key)]))
    encrypted.client.tls = ssl.create_default_context(cafile=cert)
    return {"clear": Shop(services(shards=1)), "TLS": encrypted}


def encrypt(shop, plain):
    """The connection as the shop's service wants it."""
    return shop.client.tls.wrap_socket(plain, server_hostname="127.0.0.1") if shop.client.tls else plain
