"""Validates answers strictly against the OpenAPI document (`stampede openapi`). An undocumented status, header, code or
member is an error, and so is a missing one.

Every answer below /v1 that a `Client` receives is validated here. Of each kind (operation, status, code) the first
answers are validated in full."""
import contextlib
import functools
import json
import re
import subprocess
from collections import Counter
from datetime import datetime
from urllib.parse import urlsplit

import jsonschema

HELD_OF_A_KIND = 25
METHODS = ("get", "post", "put", "patch", "delete")
# Headers of HTTP itself and of CORS. The document does not list them.
TRANSPORT = re.compile(r"date|connection|keep-alive|content-length|content-type|vary|access-control-.*")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
formats = jsonschema.FormatChecker(formats=("uuid",))


@formats.checks("date-time", raises=ValueError)
def is_time(text):
    return not isinstance(text, str) or bool(RFC3339.fullmatch(text) and datetime.fromisoformat(text.replace("Z", "+00:00")))


@formats.checks("uri")
def is_uri(text):
    return not isinstance(text, str) or bool(urlsplit(text).scheme)


def strict(document):
    """The same schema, but objects reject members that they do not name."""
    document = json.loads(json.dumps(document))
    for schema in document["components"]["schemas"].values():
        if schema["type"] == "object":
            schema.setdefault("additionalProperties", False)
    return document


class Contract:
    def __init__(self, document):
        self.document = document
        self.strict = strict(document)
        self.resolver = jsonschema.RefResolver("", self.strict)
        self.paths = [(re.compile(re.sub(r"{\w+}", "[^/]+", path)), path) for path in document["paths"]]
        self.paths.sort(key=lambda one: one[1].count("{"))  # literal paths are matched before placeholders
        self.held = Counter()  # by operation, status and code
        self.seen = set()  # (object, member, whether the member was present)

    def operations(self):
        """(path, method, operation) of every operation."""
        for path, item in self.strict["paths"].items():
            for method in item:
                assert method in METHODS, (path, method)
                yield path, method, item[method]

    def resolved(self, thing):
        return self.resolver.resolve(thing["$ref"])[1] if "$ref" in thing else thing

    def path_of(self, target):
        """The document's path that matches a target; None if no path matches."""
        path = target.split("?")[0]
        return next((known for pattern, known in self.paths if pattern.fullmatch(path)), None)

    def hold(self, asked, answer):
        """Fails if the document does not allow the answer to the request (its method, target and body), or if the
        service accepted a request that the document does not allow."""
        method, target, body = asked
        path = self.path_of(target)
        verb = "get" if method == "HEAD" else method.lower()
        item = self.strict["paths"].get(path, {})
        if verb not in item:
            self.hold_stray(item, answer)
            return
        operation = item[verb]
        code = "" if answer.status < 400 or method == "HEAD" else answer.json["code"]
        kind = operation["operationId"], answer.status, code
        self.held[kind] += 1
        if self.held[kind] > HELD_OF_A_KIND:
            return
        response = operation["responses"].get(str(answer.status))
        assert response, f"the document has no status {answer.status} for {method} {path}: {answer}"
        response = self.resolved(response)
        self.hold_headers(response, answer)
        self.hold_body(response, answer, method == "HEAD")
        if answer.status < 300 and isinstance(body, bytes) and body.strip() and "requestBody" in operation:
            self.hold_request(operation, json.loads(body), answer)

    def hold_request(self, operation, body, answer):
        """A request that the service accepts must be valid by the document. Null counts as absent, and a date may be
        written in more forms than answers use."""
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        self.validate(schema, without_nulls(body), f"{body} was answered with {answer.status}", None)

    def hold_event(self, event):
        """Fails if the document does not allow this body of a webhook."""
        self.validate(self.strict["webhooks"][event["type"]]["post"]["requestBody"]["content"]["application/json"]["schema"], event, event)

    def hold_stray(self, item, answer):
        """Checks the answer to an unknown path or method, which the document describes in prose."""
        is_preflight = answer.status == 204 and "access-control-allow-methods" in answer.headers
        assert answer.status >= 400 or is_preflight, f"the document has no such operation: {answer}"
        if answer.status == 405:
            allowed = {verb.upper() for verb in item} | ({"HEAD"} if "get" in item else set())
            assert set(answer.headers["allow"].split(", ")) == allowed, answer

    def hold_headers(self, response, answer):
        documented = {name.lower(): self.resolved(header) for name, header in response.get("headers", {}).items()}
        for name, header in documented.items():
            assert name in answer.headers or not header.get("required"), f"{name} is missing: {answer}"
        for name, value in answer.headers.items():
            if name in documented:
                self.validate(documented[name]["schema"], header_value(documented[name]["schema"], value), answer)
            else:
                assert TRANSPORT.fullmatch(name), f"the document does not have {name}: {answer}"

    def hold_body(self, response, answer, without_body):
        content = response.get("content")
        if not content:
            assert answer.body == b"" and "content-type" not in answer.headers, answer
            return
        assert answer.headers["content-type"] in content, answer
        if not without_body:
            schema = content[answer.headers["content-type"]]["schema"]
            self.validate(schema, answer.json, answer)
            self.look(schema, answer.json)

    def look(self, schema, value):
        """Records which members of which objects were present."""
        name = schema.get("$ref", "").rpartition("/")[2]
        schema = self.resolved(schema)
        if value is None:
            return
        for part in schema.get("allOf", []) + schema.get("anyOf", []):
            self.look(part, value)
        for item in value if "items" in schema else []:
            self.look(schema["items"], item)
        for member, of in schema.get("properties", {}).items():
            self.seen.add((name, member, member in value))
            if member in value:
                self.look(of, value[member])

    def validate(self, schema, value, about, checker=formats):
        validator = jsonschema.Draft202012Validator(schema, resolver=self.resolver, format_checker=checker)
        faults = [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message}" for fault in validator.iter_errors(value)]
        assert not faults, f"{faults}: {about}"


def without_nulls(value):
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return value


def header_value(schema, text):
    if schema["type"] == "integer":
        assert re.fullmatch(r"\d+", text), text
        return int(text)
    if schema["type"] == "boolean":
        assert text in ("true", "false"), text
        return text == "true"
    return text


@functools.cache
def contract():
    from harness import program_under_test  # harness imports client.py, which imports this file

    printed = subprocess.run([program_under_test(), "openapi"], capture_output=True, check=True)
    return Contract(json.loads(printed.stdout))


holders = []


@contextlib.contextmanager
def held_by(another):
    """Within the block answers are also validated against that contract."""
    holders.append(another)
    yield
    holders.remove(another)


def hold(asked, answer):
    for each in (contract(), *holders):
        each.hold(asked, answer)
