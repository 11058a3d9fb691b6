"""Limits that the operator sets for an account, suspension and rate, and their place in the order of checks."""
import time

from harness import wait_for
from hooks import hook_path, subscribe
from shop import path_of, template_file


def test_a_suspended_account_gets_402_before_all_errors_but_401(shop):
    made = shop.create()
    shop.set("--suspended", "on")
    path = path_of(made["id"])
    for method, target, body in [("HEAD", "/v1/passes", None), ("HEAD", path, None), ("POST", "/v1/passes", b"{"),
                                 ("PATCH", "/v1/passes/nobody", b"{"), ("GET", "/v1/nowhere", None),
                                 ("DELETE", "/v1/passes", None), ("POST", path, None), ("GET", "/v1/passes?limit=0", None),
                                 ("GET", "/v1/pass-templates/accepted-fields?pass_template_id=x", None)]:
        answer = shop.client.request(method, target, body=body)
        assert answer.status == 402, (method, target, answer)
        if method != "HEAD":
            answer.is_error(402, "ACCOUNT_SUSPENDED")
    shop.client.get("/v1/passes", key=shop.key[:-1]).is_error(401, "UNAUTHENTICATED")
    shop.client.delete("/v1/passes/nobody").is_error(404, "RESOURCE_NOT_FOUND")
    shop.client.delete(path).is_empty(204)
    shop.set("--suspended", "off")
    assert shop.get(made["id"], "?include_deleted=1")["status"] == "deactivated"


def exhausted(shop, key=None):
    """Sends valid requests until one is refused by the rate limit. Returns the refusal."""
    for _ in range(500):
        answer = shop.client.get("/v1/pass-templates/accepted-fields", key=key)
        if answer.status != 200:
            return answer
    raise AssertionError("500 requests passed without a limit")


def test_a_rate_limit(new_shop, service):
    shop, other = new_shop("balance"), new_shop("balance")
    pass_id = shop.create()["id"]
    assert shop.set("--rate-limit", "2")["rate_limit"] == 2
    refusal = exhausted(shop)
    refusal.is_error(429, "RATE_LIMITED")
    assert int(refusal.headers["retry-after"]) >= 1
    exhausted(shop, service.cli("key", "create", shop.account)["api_key"]).is_error(429, "RATE_LIMITED")
    with service.client(shop.key) as second:
        wait_for(lambda: exhausted(shop) and second.get("/v1/passes").status == 429, 5, "a refusal on the other route")
    for _ in range(20):
        assert other.client.get("/v1/passes").status == 200
    done = 0
    while True:
        answer = shop.try_add(pass_id, 1)
        if answer.status == 429:
            break
        answer.is_empty(202)
        done += 1
    wait_for(lambda: shop.client.get("/v1/passes").status == 200, 5, "the account's requests to be accepted again")
    shop.set("--rate-limit", "0")
    assert shop.get(pass_id)["balance"] == done
    for _ in range(100):
        assert shop.client.get("/v1/passes").status == 200


def test_writes_do_not_refill_the_rate(new_shop, service):
    """Neither the account's own changes nor the operator's settings allow more requests."""
    shop = new_shop("balance", functions=("--webhooks",))
    path = hook_path(subscribe(shop)["id"])
    shop.set("--rate-limit", "2")
    begun = time.monotonic()
    answers = [shop.client.patch(path, {"active": bool(n % 2)}).status for n in range(60)]
    for change in (lambda: service.cli("key", "create", shop.account), lambda: shop.put_template(template_file()),
                   lambda: shop.set("--webhooks", "on")):
        change()
        answers += [shop.client.get("/v1/passes").status for _ in range(20)]
    assert set(answers) == {200, 429}
    # The burst of one second, then what is earned over time. Service time may run a tenth faster than the host's.
    assert answers.count(200) <= 3 + 2.2 * (time.monotonic() - begun)


def test_the_rate_in_the_order_of_checks(shop):
    """429 comes after 401, 402, 404 and 405, and before all errors of body, fields and resource."""
    pass_id = shop.create()["id"]
    shop.set("--rate-limit", "1")
    json_type, text = {"Content-Type": "application/json"}, {"Content-Type": "text/plain"}

    def when_exhausted(status, method, path, body=None, headers=None, key=None):
        wait_for(lambda: exhausted(shop).status == 429 and
                 shop.client.request(method, path, body=body, headers=headers, key=key).status == status, 5,
                 f"{status} to {method} {path}")

    exhausted(shop)
    for _ in range(5):
        shop.client.get("/v1/passes", key="bad").is_error(401, "UNAUTHENTICATED")
        shop.client.get("/v1/nowhere").is_error(404, "ROUTE_NOT_FOUND")
        shop.client.delete("/v1/passes").is_error(405, "METHOD_NOT_ALLOWED")
    when_exhausted(429, "POST", "/v1/passes", b"{", text)
    when_exhausted(429, "POST", "/v1/passes", b"{", json_type)
    when_exhausted(429, "POST", path_of(pass_id, "/loyalty"), b'{"balance_to_add":"x"}', json_type)
    when_exhausted(429, "GET", "/v1/passes?limit=0")
    when_exhausted(429, "GET", "/v1/passes/%00")
    when_exhausted(429, "HEAD", "/v1/passes/nobody")
    when_exhausted(429, "DELETE", "/v1/passes/nobody")
