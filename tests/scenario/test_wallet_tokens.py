"""Every JSON web token that the service makes, judged by a public checker: the provider token for APNs, the assertion for Google's
access tokens, and the link by which a pass is saved."""
import base64
import json
import subprocess
from pathlib import Path

import pytest
from certificates import openssl
from checkers import node_environment
from google import SCOPE, Google
from harness import ROOT
from installed import Setting, apns, credential, options  # noqa: F401: fixtures
from page import path_of_link
from phones import names_of
from shop import Shop
from wallets import EMAIL, ISSUER, TEAM, put_google
from wallets import google as service_account

SAVE = "https://pay.google.com/gp/v/save/"
KEY_ID = "KEY1234567"


@pytest.fixture(scope="session")
def checker():
    """Judges questions: (token, file of the public key, algorithm, claims)."""
    env = node_environment("jose")

    def run(*questions):
        asked = [{"token": token, "key": Path(key).read_text(), "algorithm": algorithm, "claims": claims}
                 for token, key, algorithm, claims in questions]
        done = subprocess.run(["node", ROOT / "tests/scenario/verify_jwt.js"], env=env, capture_output=True, text=True,
                              input=json.dumps(asked), check=True)
        return json.loads(done.stdout)
    return run


def public_of(key, place):
    made = place / f"{Path(key).name}.pub"
    openssl("pkey", "-in", key, "-pubout", "-out", made)
    return made


def changed(token, part, change):
    """The token with another value of a part of it, 0 its header, 1 its claims, under the same signature."""
    parts = token.split(".")
    value = json.loads(base64.urlsafe_b64decode(parts[part] + "=="))
    change(value)
    parts[part] = base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    return ".".join(parts)


def expect_strict(checker, question, other_key):
    """The checker notices what is wrong with a token."""
    token, key, algorithm, claims = question
    forged = changed(token, 1, lambda value: value.update(iss="somebody"))
    bare = changed(token, 0, lambda value: value.update(alg="none"))
    verdicts = checker((forged, key, algorithm, {}), (bare.rsplit(".", 1)[0] + ".", key, algorithm, {}),
                       (token[:-8] + "AAAAAAAA", key, algorithm, {}), (token, other_key, algorithm, {}),
                       (token, key, algorithm, {**claims, "issuer": "somebody"}))
    assert [verdict.get("error") for verdict in verdicts] == [
        "ERR_JWS_SIGNATURE_VERIFICATION_FAILED", "ERR_JOSE_ALG_NOT_ALLOWED", "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
        "ERR_JWS_SIGNATURE_VERIFICATION_FAILED", "ERR_JWT_CLAIM_VALIDATION_FAILED"]


def test_the_provider_token(new_service, authority, apns, apple, options, checker, tmp_path):  # noqa: F811
    p8 = apple.p8()
    public, other = public_of(p8, tmp_path), public_of(apple.p8(), tmp_path)
    apns.public_keys[(TEAM, KEY_ID)] = public
    at = Setting(new_service, authority, apns, [*options, "--p8", p8, "--p8-id", KEY_ID])
    try:
        _, phone = at.installed("ada")
        at.shop.add("ada", 5)
        assert at.apns.wait(phone.push)[0].answer == (200, None)
        [token] = at.apns.tokens
    finally:
        at.close()
    question = (token, public, "ES256", {"issuer": TEAM, "maxTokenAge": "1h"})
    [verdict] = checker(question)
    assert verdict["header"] == {"alg": "ES256", "kid": KEY_ID} and set(verdict["payload"]) == {"iss", "iat"}
    expect_strict(checker, question, other)


def test_the_assertion_and_the_link(new_service, tmp_path, apple, checker):
    key = apple.key()
    public, other = public_of(key, tmp_path), public_of(apple.key(), tmp_path)
    google = Google(tmp_path, key)
    service = new_service(shards=1, options=google.options())
    shop, client = Shop(service, ("balance",)), service.client()
    put_google(shop, service_account(tmp_path, key))
    try:
        made = shop.create("ada")
        link = client.get(path_of_link(made["download_url"]) + "/google").headers["location"]
        serial, _ = names_of(service, made["download_url"])
        body = google.callback(f"{ISSUER}.{serial}", "save")
        google.say(client, shop.account, body)
        google.wait("PATCH", "loyaltyObject")
    finally:
        client.close()
        shop.close()
        service.stop()
        google.close()
    assert link.startswith(SAVE) and len(google.assertions) >= 1
    saves = (link.removeprefix(SAVE), public, "RS256", {"issuer": EMAIL, "audience": "google", "maxTokenAge": "1h"})
    asks = (google.assertions[0], public, "RS256", {"issuer": EMAIL, "audience": "https://oauth2.googleapis.com/token", "maxTokenAge": "1h"})
    saved, asked = checker(saves, asks)
    assert saved["header"] == asked["header"] == {"alg": "RS256", "typ": "JWT"}
    assert saved["payload"]["typ"] == "savetowallet" and saved["payload"]["payload"]["loyaltyObjects"][0]["id"] == f"{ISSUER}.{serial}"
    assert asked["payload"]["scope"] == SCOPE and 0 < asked["payload"]["exp"] - asked["payload"]["iat"] <= 3600
    for question in (saves, asks):
        expect_strict(checker, question, other)
