"""Invalid and hostile JSON as text or bytes: values for a field, and whole bodies."""

# Every kind of JSON value. A field is tested with all kinds except its own.
VALUES = {
    "string": ['"x"', '""', '"1"', '"true"', '"null"', '"\\u0000"', '"{}"'],
    "number": ["0", "1", "-1", "-0", "1.5", "1e2", "1e400", "1e-400", "-1E+400", "9007199254740993", "9223372036854775807",
               "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1" * 1000, "0." + "1" * 1000],
    "boolean": ["true", "false"],
    "array": ["[]", "[1]", "[{}]", '["x"]', "[null]"],
    "object": ["{}", '{"x":1}', '{"x":{"x":null}}', '{"":""}'],
}


def values_but(*kinds):
    return [text for kind, texts in VALUES.items() if kind not in kinds for text in texts]


def nested(depth, opening="[", closing="]"):
    return opening * depth + closing * depth


# Values that are invalid JSON in any position.
BROKEN = [
    # numbers
    "01", "-01", "00", "+1", ".5", "-.5", "1.", "1.e2", "1e", "1e+", "1e1.5", "-", "--1", "0x10", "1_0", "1,0", "1 0", "NaN",
    "-NaN", "Infinity", "-Infinity", "1f", "٥",
    # literals
    "tru", "True", "TRUE", "nul", "Null", "None", "undefined", "truefalse", "yes", "x", "",
    # strings
    "'x'", '"x', 'x"', '"', '"\\"', '"\\x41"', '"\\\'"', '"\\u12g4"', '"\\u"', '"\\u123"', '"\\U00000041"', '"x""y"',
    '"x" "y"', "`x`", "\u201cx\u201d",
    # lone surrogates
    '"\\ud800"', '"\\udbff"', '"\\udc00"', '"\\udfff"', '"\\ud800\\ud800"', '"\\udc00\\ud800"', '"\\ud800x"', '"x\\ud800"',
    '"\\ud800\\n"', '"\\uD83D\\u0041"', '"\\ud83d\\\\ude00"', '{"\\ud800":1}', '{"x":{"\\udfff":[]}}',
    # containers
    "[1,]", "[,1]", "[,]", "[1 2]", "[1;2]", "[1", "1]", "[", "]", "[1}", '{"x":1]', '{"x":1,}', "{,}", '{"x"}', '{"x":}', "{:1}",
    "{x:1}", "{1:1}", "{null:1}", '{"x":1 "y":2}', '{"x",1}', '{"x":1:2}', '{"x"=1}', '{"x":1,,"y":2}', "{", "}", "{}{}", "[][]",
    # duplicate keys, at any depth and in any spelling
    '{"x":1,"x":1}', '{"x":1,"y":2,"x":null}', '{"":1,"":2}', '{"x":1,"\\u0078":2}', '{"é":1,"\\u00e9":2}',
    '[{"x":1,"x":2}]', '{"x":{"x":{"x":1,"x":2}}}', '{"a":1,"b":[[[{"x":1,"x":2}]]]}', '{"\\u0000":1,"\\u0000":1}',
    "{" + ",".join(f'"{n}":0' for n in range(2000)) + ',"7":0}',
    # syntax of other notations
    "/**/1", "1/**/", "//\n1", "1//", "#\n1", "<!-- -->1", "(1)", "@1", "$1", "new Date()", "b'x'",
    # depth
    nested(40), nested(1000), nested(100_000), "[" * 100_000, '{"x":' * 100_000, '{"x":' * 1000 + "1" + "}" * 1000,
    '[{"x":' * 500 + "1" + "}]" * 500,
    # bytes
    *(b'"' + bytes([byte]) + b'"' for byte in range(0x20)),
    *(b'{"x' + bytes([byte]) + b'":1}' for byte in (0, 1, 9, 10, 31)),
    *(b'"' + bytes([byte]) + b'"' for byte in range(0x80, 0x100)),
    b'"\xc0\xaf"', b'"\xc1\xbf"', b'"\xe0\x80\xaf"', b'"\xe0\x9f\xbf"', b'"\xf0\x80\x80\xaf"', b'"\xf0\x8f\xbf\xbf"', b'"\xed\xa0\x80"',
    b'"\xed\xbf\xbf"', b'"\xf4\x90\x80\x80"', b'"\xf5\x80\x80\x80"', b'"\xf8\x88\x80\x80\x80"', b'"\xfc\x84\x80\x80\x80\x80"',
    b'"\xc3"', b'"\xe2\x82"', b'"\xf0\x9f\x98"', b'"\x80x"', b'"\xc3\xc3\xa9"', b'{"\xff":1}', b'{"x":{"\xc0\x80":1}}',
    b"\xff1", b"1\xff", b"\x001", b"1\x00", b"\xef\xbb\xbf1", b"\x0b1", b"\x0c1", b"\xa01", b"\xc2\xa01", b"\xe2\x80\xa81",
]


def raw(text):
    return text if isinstance(text, bytes) else text.encode()


def bodies_around(good):
    """Bodies that are not a JSON object, derived from a valid one."""
    good = raw(good)
    yield from (b" ", b"\n", b"[]", b"[" + good + b"]", b'"x"', b"1", b"null", b"true", b"false", b"{", b"}", b"[", b'"', b"{}{}", b"x",
                b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xef\xbb\xbf" + good, good + good, good + b"," + good, good + b"\n" + good,
                good + b"x", good + b"\x00", good + b"]", good + b"}", good + b",", b"," + good, b"\x00" + good, b"[" + good,
                b"(" + good + b")", b"/**/" + good, good + b"//", good[:-1], good[1:], good[:-1] + b",}", good[:-1] + b"]",
                good.decode().encode("utf-16"), good.decode().encode("utf-16-le"), good.decode().encode("utf-32"),
                b"callback(" + good + b")", b"body=" + good, b"pass_id=x&balance_to_add=1", b"<a/>", b"---\na: 1\n",
                b"\x1f\x8b\x08\x00", raw(nested(100_000)), b"[" * 100_000, b'{"x":' * 100_000, b" " * 100_000,
                b"\x0b" + good, good + b"\x1a")
    for position in range(1, len(good), max(1, len(good) // 16)):
        yield good[:position]


# Path segments that cannot be an id, percent-encoded or raw.
IMPOSSIBLE = [
    *(f"a%{byte:02X}b" for byte in (*range(0x20), *range(0x7f, 0x100))), *(f"%{byte:02x}" for byte in (0, 10, 13, 31, 127, 128, 255)),
    *(f"%C2%{byte:02X}" for byte in range(0x80, 0xa0)),
    ".", "..", "%2e", "%2E", "%2e%2e", ".%2e", "%2E.",
    "%C0%AE%C0%AE", "%E0%80%AE", "%F0%80%80%AE", "%C0%AF", "%C0%80", "%ED%A0%80", "%ED%BF%BF", "%F4%90%80%80", "%F8%88%80%80%80",
    "%C3", "%E2%82", "%F0%9F%98", "%80", "%FE%FF",
    "%", "%2", "%zz", "a%", "a%1", "%%", "%%41", "%-1", "%+1", "% 1".replace(" ", "%20") + "%", "%u0041", "%G0",
    "a" * 201, "a" * 1000, "%61" * 201, "%C3%A9" * 101, "%F0%9F%98%80" * 51,
]


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def keys_that_meet(count, bits=19, letters=9):
    """Distinct keys whose CRC-32C agrees in its low bits. The checksum is linear: the letters' four low bits are free,
    and elimination finds the combinations that leave the low bits of the checksum unchanged."""
    base = b"@" * letters
    origin = crc32c(base)
    basis, free = {}, []
    for bit in range(4 * letters):
        key = bytearray(base)
        key[bit // 4] ^= 1 << bit % 4
        vector, mask = (crc32c(key) ^ origin) & (1 << bits) - 1, 1 << bit
        while vector:
            top = vector.bit_length()
            if top not in basis:
                basis[top] = vector, mask
                break
            vector, mask = vector ^ basis[top][0], mask ^ basis[top][1]
        else:
            free.append(mask)
    masks = [0]
    for mask in free:
        masks += [mask ^ other for other in masks]
    assert len(masks) >= count
    return ["".join(chr(0x40 ^ mask >> 4 * at & 15) for at in range(letters)) for mask in masks[:count]]
