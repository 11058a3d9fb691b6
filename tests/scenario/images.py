"""Images of passes, and an endpoint that serves them in every way there is.

    /image/NAME        a PNG, another for every name      /held-image/NAME   the same after release()
    /slow-image/MS/NAME  the same after so many milliseconds

Beyond those, the receiver's own paths.
"""
import asyncio
import struct
import zlib

from harness import wait_for
from receiver import Receiver, answer
from shop import new_id

SIGNATURE = b"\x89PNG\r\n\x1a\n"
TYPE = ["Content-Type: image/png"]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width=2, height=2, text=b"", pixels=None):
    """Greyscale, a byte a pixel; `text` makes it another file, `pixels` replaces the data."""
    data = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height))) if pixels is None else pixels
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", head) + chunk(b"tEXt", b"Comment\0" + text) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


class Gallery(Receiver):
    async def _do_image(self, writer, rest):
        writer.write(answer(200, png(text="/".join(rest).encode()), TYPE))
        return True

    async def _do_held_image(self, writer, rest):
        future = self._loop.create_future()
        self._held.append(future)
        await future
        return await self._do_image(writer, rest)

    async def _do_slow_image(self, writer, rest):
        await asyncio.sleep(int(rest[0]) / 1000)
        return await self._do_image(writer, rest[1:])


def options(authority, *more):
    """Of a service that fetches from galleries of this host."""
    return ["--egress-ca", authority.root, "--egress-allow", "127.0.0.0/8", *more]


def body_with(logo=None, banner=None, pass_id=None):
    images = {name: url for name, url in (("logo", logo), ("banner", banner)) if url}
    return {"pass_id": pass_id or new_id(), "visible": {"name": "Ada"}, "appearance": images}


def await_status(shop, pass_id, status, seconds=10):
    """The pass, once it has that status; no other may come of `creating`."""
    def there():
        found = shop.get(pass_id)
        assert found["status"] in ("creating", status), found
        return found["status"] == status and found

    return wait_for(there, seconds, f"{pass_id} to be {status}")
