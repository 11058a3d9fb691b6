"""A service with a population: its accounts and passes, and options that make the load generator use all of them."""

import os

import bench
import operators
from bench import Failed, say

LAWS = ("uniform", "zipf")  # how the account of a request is drawn


def let_scan(ask, account_id):
    """Switches off the double-scan window, so that every scan succeeds. `ask` runs an operator command."""
    ask("account", "set", account_id, "--double-scan-window", "0s")


def make_account(template_path):
    def make(operator, _number):
        account = operator("account", "create", "--name", "bench")
        operator("template", "put", account["account_id"], template_path)
        let_scan(operator, account["account_id"])
        return account["api_key"]
    return make


def keys_of(stampede, accounts):
    """A file with an API key of each account; the first is the account that the service already has."""
    path = f"{stampede.data}.keys"
    made = operators.each_of(os.path.dirname(stampede.program), stampede.data, range(accounts - 1),
                             make_account(stampede.template_path))
    with open(path, "w", encoding="ascii") as file:
        file.writelines(key + "\n" for key in [stampede.api_key, *made])
    return path


class Filled:
    """A service with a population. `fill` is the load generator's report of the filling."""

    def __init__(self, options, stampede, population):
        self.population, self.keys_path = population, None
        let_scan(stampede.ask, stampede.account_id)
        if population.accounts > 1:
            self.keys_path = keys_of(stampede, population.accounts)
            say(f"{population.accounts:,} accounts")
        self.fill = bench.fill(options, stampede, 0, population.each, self.keys(), population.accounts)

    def keys(self):
        return {"keys": self.keys_path} if self.keys_path else {}

    def asked(self, law="uniform"):
        """Options of the load generator, by name, that make it use the passes of all accounts."""
        if law not in LAWS:
            raise Failed(f"there is no law {law}")
        return {"passes": self.population.each, **self.keys(), **({"accounts": law} if self.keys_path else {})}


def words(asked):
    """Options by name as words of a command line."""
    return [word for name, value in asked.items() for word in (f"--{name}", str(value))]
