"""Images of passes, and an endpoint that serves them.

    /image/NAME        a PNG, different for each name      /held-image/NAME   the same after release()
    /slow-image/MS/NAME  the same after that many milliseconds

The paths of receiver.py work too.
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
    """A greyscale image with one byte a pixel. `text` makes the file distinct; `pixels` replaces the data."""
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


class Logos(Gallery):
    """/logo/W/TEXT: a logo of that width; /held/W: likewise, when it is released."""

    async def _do_logo(self, writer, rest):
        width = int(rest[0])
        writer.write(answer(200, png(width, max(40, width // 3), "/".join(rest).encode()), TYPE))
        return True

    async def _do_held(self, writer, rest):
        future = self._loop.create_future()
        self._held.append(future)
        await future
        return await self._do_logo(writer, rest)


def body_with(logo=None, banner=None, pass_id=None):
    images = {name: url for name, url in (("logo", logo), ("banner", banner)) if url}
    return {"pass_id": pass_id or new_id(), "visible": {"name": "Ada"}, "appearance": images}


def await_status(shop, pass_id, status, seconds=10):
    """Waits for that status and returns the pass. Fails if the pass leaves `creating` for another status."""
    def there():
        found = shop.get(pass_id)
        assert found["status"] in ("creating", status), found
        return found["status"] == status and found

    return wait_for(there, seconds, f"{pass_id} to be {status}")
