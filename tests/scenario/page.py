"""A strict parser of pass pages: each must be valid HTML without warnings, load nothing external, and obey its own
Content-Security-Policy."""
import base64
import hashlib
import re
import subprocess
import tempfile
from pathlib import Path

import html5lib

HEADERS = {
    "cache-control": "private, no-store", "referrer-policy": "no-referrer", "x-content-type-options": "nosniff",
    "content-type": "text/html; charset=utf-8", "x-robots-tag": "noindex", "x-dns-prefetch-control": "off",
}
# Everything that makes a browser fetch, run or send something without a click.
FETCHING = {"src", "srcset", "data", "action", "formaction", "background", "poster", "ping", "style", "http-equiv", "xlink:href"}
ELEMENTS = {"html", "head", "meta", "title", "style", "body", "main", "header", "h1", "p", "section", "dl", "dt", "dd", "bdi",
            "a", "figure", "figcaption", "svg", "path", "img", "div", "span"}
IMAGE = re.compile(r"([\w-]{22})/(logo|banner)")
OWN_WORDS = re.compile(r"Yes|No|-?\d+")


def path_of_link(url):
    return "/p/" + url.rsplit("/p/", 1)[1]


def fetch(client, url, method="GET", **options):
    """GETs the link. The host of an absolute `url` is ignored."""
    return client.request(method, path_of_link(url) if "://" in url else url, **options)


class Page:
    """A page whose form has been checked: `title`, `status`, `fields` as [(label, value)], `caption` of the code,
    `images` by name."""

    def __init__(self, answer, status=200):
        assert answer.status == status, answer
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, (name, answer)
        self.text = answer.body.decode()
        self.root = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(self.text)
        images = list(self.root.iter("img"))
        self.badges = [image.get("src") for image in images if image.get("src").startswith("/wallet/badges/")]
        self.images = {IMAGE.fullmatch(image.get("src"))[2]: image for image in images if image.get("src") not in self.badges}
        self.check_form()
        self.check_policy(answer.headers["content-security-policy"])
        self.title = self.only("h1")
        self.window_title = self.only("title")
        self.fields = [(self.text_of(pair[0]), self.text_of(pair[1])) for pair in self.root.iter("dl")]
        pills = [element for element in self.root.iter("p") if element.get("data-status")]
        self.status = pills[0].get("data-status") if pills else None
        self.notice = next((self.text_of(p) for p in self.root.iter("p") if p.get("class") == "notice"), None)
        self.caption = self.only("figcaption") if list(self.root.iter("figure")) else None
        self.links = [element.get("href") for element in self.root.iter("a")]

    @staticmethod
    def text_of(element):
        return "".join(element.itertext())

    def only(self, name):
        found = list(self.root.iter(name))
        assert len(found) == 1, (name, len(found))
        return self.text_of(found[0])

    def check_form(self):
        tidy = subprocess.run(["tidy", "-q", "-e", "-utf8"], input=self.text, capture_output=True, text=True, check=False)
        assert (tidy.returncode, tidy.stderr) == (0, ""), tidy.stderr
        assert self.root.get("lang") == "en"
        for element in self.root.iter():
            if not isinstance(element.tag, str):
                raise AssertionError("a comment")
            name = element.tag.rsplit("}", 1)[-1]
            assert name in ELEMENTS, name
            for attribute in element.keys():
                own = name == "img" and attribute == "src" and (IMAGE.fullmatch(element.get("src")) or element.get("src") in self.badges)
                assert own or attribute not in FETCHING and not attribute.startswith("on"), (name, attribute)
                assert attribute != "href" or name == "a", name
            if name == "a" and element.get("class") not in ("wallet-apple", "wallet-google"):  # those lead to this host
                assert set(element.get("rel").split()) >= {"noopener", "noreferrer"}
        if any(p.get("data-status") for p in self.root.iter("p")):  # text that users wrote is marked as isolated
            for element in [element for name in ("dt", "dd", "h1", "figcaption") for element in self.root.iter(name)]:
                apart = "".join(self.text_of(bdi) for bdi in element.iter("bdi"))
                assert apart == self.text_of(element) or OWN_WORDS.fullmatch(self.text_of(element)), self.text_of(element)

    def check_policy(self, policy):
        directives = dict((item.split()[0], item.split()[1:]) for item in policy.split(";"))
        none = ["'none'"]
        images = {"img-src": ["'self'"]} if self.images or self.badges else {}
        assert {name: value for name, value in directives.items() if name != "style-src"} == {
            "default-src": none, "base-uri": none, "form-action": none, "frame-ancestors": none, **images}, policy
        styles = [self.text_of(style) for style in self.root.iter("style")]
        hashes = ["'sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() + "'" for style in styles]
        assert directives["style-src"] == hashes, policy
        for style in styles:
            assert not re.search(r"url\(|@import|expression|src:", style), style

    def colours(self):
        return re.search(r"--card:(#[0-9a-fA-F]{6});--ink:(#000|#fff)}", self.text).groups()

    def code_reads(self):
        """The text of the QR code as a reader decodes it; None without a code."""
        svg = re.search(r'viewBox="0 0 (\d+) \1".*stroke="#000" d="([^"]+)"', self.text)
        return svg and read_code(int(svg[1]), svg[2])


def read_code(side, path, scale=4):
    rows = [bytearray(b"\xff" * side) for _ in range(side)]
    x = y = 0
    for letter, first, second in re.findall(r"([Mmh])(\d+)(?: ([\d.]+))?", path):
        if letter == "M":
            x, y = int(first), int(float(second))
        elif letter == "m":
            x += int(first)
        else:
            rows[y][x:x + int(first)] = bytes(int(first))
            x += int(first)
    wide = [bytes(value for value in row for _ in range(scale)) for row in rows for _ in range(scale)]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "code.pgm"
        file.write_bytes(b"P5 %d %d 255\n" % (side * scale, side * scale) + b"".join(wide))
        done = subprocess.run(["zbarimg", "-q", "--raw", "-Sdisable", "-Sqrcode.enable", file], capture_output=True, text=True,
                              check=True)
    return done.stdout.removesuffix("\n")
