"""Unpacks bytes that others have compressed, within a limit."""

import zlib

GZIP = ("gzip", "x-gzip")
DEFLATE = ("deflate",)


class NotUnpacked(ValueError):
    """Raised when bytes cannot be unpacked; the message says why."""


def unpacked(data: bytes, encoding: str, limit: int) -> bytes:
    """Return a body without the encodings that an HTTP header names.

    Args:
        data: the body as it was sent; more than `limit` bytes of its plain form are cut off.
        encoding: the value of `Content-Encoding`.
        limit: the most bytes to return.

    Raises:
        NotUnpacked: an encoding is not known here, or the data is damaged.
    """
    for name in reversed([one.strip().lower() for one in encoding.split(",")]):
        if name in ("", "identity"):
            continue
        if name not in GZIP + DEFLATE:
            raise NotUnpacked(f"it is compressed with {name}, which cannot be read here")
        # Some servers understand `deflate` as the bare format, without its header.
        bare = name in DEFLATE and data[:1] and data[0] & 15 != 8
        try:
            data = zlib.decompressobj(-15 if bare else 47).decompress(data, limit)
        except zlib.error as error:
            raise NotUnpacked(f"it is damaged ({error})") from None
    return data
