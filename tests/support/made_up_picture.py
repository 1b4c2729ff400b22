"""A made-up screenshot, drawn here."""

import struct
import zlib


def png(width: int = 640, height: int = 400) -> bytes:
    """A plain drawing of a page: a bar on top, a form in the middle."""

    def pixel(x: int, y: int) -> bytes:
        if y < height * 0.12:
            return b"\x2f\x4b\xb8"
        in_form = width * 0.3 < x < width * 0.7 and height * 0.25 < y < height * 0.8
        return b"\xff\xff\xff" if in_form else b"\xee\xf0\xf4"

    rows = (b"\x00" + b"".join(pixel(x, y) for x in range(width)) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (
        chunk(b"IHDR", header),
        chunk(b"IDAT", zlib.compress(b"".join(rows))),
        chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


PICTURE = png()
