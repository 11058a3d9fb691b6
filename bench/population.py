"""Populations: a number of passes, in one account or evenly in many. `N/A` on a command line is N passes in A accounts."""

from typing import NamedTuple

ACCOUNTS_MAX = 10_000  # of the load generator


class Population(NamedTuple):
    passes: int
    accounts: int = 1

    @property
    def each(self):
        """The number of passes in each account: p0, p1 and so on."""
        return self.passes // self.accounts

    @property
    def name(self):
        return f"{self.passes:,}" + (f" in {self.accounts:,} accounts" if self.accounts > 1 else "")

    @property
    def title(self):
        return f"{self.passes:,} passes" + (f" in {self.accounts:,} accounts" if self.accounts > 1 else "")

    @property
    def text(self):
        """The text that read() accepts."""
        return f"{self.passes}/{self.accounts}" if self.accounts > 1 else str(self.passes)

    @property
    def place(self):
        """The name of its directory."""
        return self.text.replace("/", "-")

    def plain(self):
        """For JSON."""
        return self._asdict()


def population_of(row):
    """The population of a row of a report's JSON; rows of older reports have one account."""
    return Population(row["passes"], row.get("accounts", 1))


def read(text):
    """Parses a population. Raises ValueError if the text is invalid."""
    numbers = [int(word) for word in text.split("/")]
    found = Population(*numbers) if len(numbers) <= 2 else None
    if not found or min(found) < 1 or found.accounts > ACCOUNTS_MAX or found.passes % found.accounts:
        raise ValueError(text)
    return found
