"""Short functions for activation rules."""
import json

RULES = "/v1/trigger-rules"
ADD_TEN = {"type": "add_balance", "amount": 10}


def add(amount):
    return {"type": "add_balance", "amount": amount}


def assign(slug, **options):
    return {"type": "assign_reward", "slug": slug, **options}


def tell(message):
    return {"type": "send_notification", "message": message}


def rule_file(event="pass.created", *actions, **changes):
    """A rule file in the operator's format; None removes a member."""
    file = {"name": "Rule", "event": event, "actions": list(actions or [ADD_TEN]), **changes}
    return {key: value for key, value in file.items() if value is not None}


def put_file(shop, file, *options):
    return shop.service.cli("rule", "put", shop.account, "-", *options, stdin=json.dumps(file))


def put_rule(shop, *args, **changes):
    """Puts a rule, which may name rewards that do not exist yet."""
    put = put_file(shop, rule_file(*args, **changes), "--force")
    assert set(put) == {"id"}
    return put["id"]


def rules_of(shop, query=""):
    answer = shop.client.get(RULES + query)
    assert answer.status == 200, answer
    assert not {"x-total-count", "x-has-more"} & set(answer.headers)
    return answer.json


def all_rules(shop):
    """All rules, listed by the operator's command."""
    return shop.service.cli("rule", "list", shop.account)


def delete_rule(shop, rule):
    assert shop.service.cli("rule", "delete", shop.account, rule) == {}
