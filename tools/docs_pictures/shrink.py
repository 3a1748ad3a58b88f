#!/usr/bin/env python3
"""Halves a PNG of 8-bit RGB or RGBA in both directions: a figure made for print is twice as large as a page shows it.

    shrink.py IN.png OUT.png
"""
import struct
import sys
import zlib


def read_png(data):
    """(width, height, channels, rows as bytes); not interlaced."""
    at, body, header = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", chunk)
        elif kind == b"IDAT":
            body += chunk
        at += 12 + size
    width, height, depth, color, _, _, interlaced = header
    if depth != 8 or color not in (2, 6) or interlaced:
        raise SystemExit(f"depth {depth}, colour type {color}, interlacing {interlaced}: expected 8, 2 or 6, 0")
    channels = 3 if color == 2 else 4
    raw, rows, before = zlib.decompress(body), [], bytearray(width * channels)
    for y in range(height):
        line = bytearray(raw[y * (width * channels + 1) + 1:(y + 1) * (width * channels + 1)])
        unfilter(raw[y * (width * channels + 1)], line, before, channels)
        rows.append(line)
        before = line
    return width, height, channels, rows


def unfilter(kind, line, before, step):
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        line[:] = bytes((a + b) & 255 for a, b in zip(line, before))
    elif kind == 3:
        for i in range(len(line)):
            left = line[i - step] if i >= step else 0
            line[i] = (line[i] + (left + before[i]) // 2) & 255
    elif kind == 4:
        for i in range(len(line)):
            a, b, c = (line[i - step], before[i], before[i - step]) if i >= step else (0, before[i], 0)
            p = a + b - c
            pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
            line[i] = (line[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255


def halve(width, height, channels, rows):
    """Means of 2 × 2 pixels; of an odd side the last pixel is left out. Transparency is dropped: figures are on white."""
    out = []
    for y in range(0, height - 1, 2):
        a, b, line = rows[y], rows[y + 1], bytearray(3 * (width // 2))
        for c in range(3):
            top, below = a[c::channels], b[c::channels]
            line[c::3] = bytes((p + q + r + s + 2) >> 2 for p, q, r, s in
                               zip(top[0:width // 2 * 2:2], top[1::2], below[0:width // 2 * 2:2], below[1::2]))
        out.append(line)
    return out


def write_png(width, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def filtered(line, before):  # "up", or none where that is smaller
        up = bytes((p - q) & 255 for p, q in zip(line, before))
        return b"\2" + up if sum(min(x, 256 - x) for x in up) < sum(min(x, 256 - x) for x in line) else b"\0" + bytes(line)

    body = b"".join(filtered(line, before) for line, before in zip(rows, [bytes(3 * width), *rows]))
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b"")


def main(source, target):
    with open(source, "rb") as stream:
        width, height, channels, rows = read_png(stream.read())
    with open(target, "wb") as stream:
        stream.write(write_png(width // 2, halve(width, height, channels, rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
