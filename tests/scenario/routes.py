"""The routes of schemas/api/, for tests that must cover every route. Those below /v1 are the interface's. PAGES serve
holders, who have no key; PHONES theirs, and Google (test_wallet_phones.py, test_wallet_google.py)."""
import re

from harness import ROOT

ROW = re.compile(r'^(?:ROUTE|PAGE)\((\w+), (\w+), "([^"]+)", (\d+), (\w+)[,)]', re.M)


class Route:
    def __init__(self, message, method, path, status, answer):
        self.method, self.path, self.message, self.status, self.answer = method, path, message, int(status), answer
        self.ids = re.findall(r"{(\w+)}", path)

    def at(self, **ids):
        """The path with its ids filled in unchanged. The caller percent-encodes them."""
        return self.path.format(**ids)

    def __repr__(self):
        return f"{self.method} {self.path}"


ALL = [Route(*row) for noun in sorted((ROOT / "schemas" / "api").glob("*.def")) for row in ROW.findall(noun.read_text())]
ROUTES = [route for route in ALL if route.path.startswith("/v1/")]
PHONES = [route for route in ALL if route.path.startswith("/wallet/")]
PAGES = [route for route in ALL if route not in ROUTES + PHONES]
assert len(ROUTES) >= 7 and {route.path for route in PAGES} == {
    "/p/{token}", "/p/{token}/{image}", "/p/{token}/pass.pkpass", "/p/{token}/google"}
