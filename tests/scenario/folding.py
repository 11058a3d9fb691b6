"""Case folding for search and sort by name, implemented independently of schemas/fold.c."""
import unicodedata

MARKS = ("Mn", "Mc", "Me")
PLAIN = {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe",
         **dict.fromkeys("‘’‚‛‹›ʼʻ´", "'"), **dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‐‑‒–—―−", "-"),
         **dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff", "")}


def fold(text):
    """NFKD, without combining marks, case-folded, then the letters that have no decomposition."""
    text = text.replace("´", "'")
    for _ in range(2):
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if unicodedata.category(c) not in MARKS)
        text = text.casefold()
    return "".join(PLAIN.get(c, c) for c in text)
