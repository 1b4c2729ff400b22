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
            data = _plain(data, -15 if bare else 47, limit)
        except zlib.error as error:
            raise NotUnpacked(f"it is damaged ({error})") from None
    return data


def _plain(data: bytes, form: int, limit: int) -> bytes:
    """Return the plain form of all packed parts that follow one another, as `gzip` allows them.

    Args:
        data: the parts; zeros, or anything else, behind the last one do not count.
        form: the window size with the format, as `zlib` counts them.
        limit: the most bytes to return.
    """
    found = b""
    while data:
        part = zlib.decompressobj(form)
        try:
            found += part.decompress(data, limit - len(found))
        except zlib.error:
            if not found:
                raise
            break
        data = part.unused_data
        if len(found) >= limit or not part.eof:
            break
    return found
