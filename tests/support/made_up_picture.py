"""A made-up screenshot, drawn here."""

import struct
import zlib


def png(width: int = 640, height: int = 400) -> bytes:
    """A plain drawing of a page: a bar on top, a form in the middle."""

    bar, white, grey = b"\x2f\x4b\xb8", b"\xff\xff\xff", b"\xee\xf0\xf4"
    # Row by row, because each process that collects tests draws it.
    form = b"".join(white if width * 0.3 < x < width * 0.7 else grey for x in range(width))

    def row(y: int) -> bytes:
        if y < height * 0.12:
            return bar * width
        return form if height * 0.25 < y < height * 0.8 else grey * width

    rows = (b"\x00" + row(y) for y in range(height))

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
