#!/usr/bin/env python3
"""Generates the test pictures for the image code and pictures.json, the manifest of their expected properties.

    python3 make_pictures.py OUT            the small fixtures (about 60 files)
    python3 make_pictures.py OUT --big DIR  in addition, in DIR: 12-megapixel photos and a decompression bomb

Requires only Pillow (written with 13.0.0). The output depends only on the versions of Pillow and zlib, because the
script uses neither random numbers nor the clock. Another encoder version may write other bytes for the same picture,
so the generated files are committed. HEIC files require `heif-enc` (Debian: libheif-examples) and are skipped without
it.

Every upright "quadrants" picture is 64 x 48 pixels with four flat corners:
    top left red, top right green, bottom left blue, bottom right yellow.
All private data contains the ASCII text SECRET. All data that must survive cleaning contains KEEP or is the ICC
profile. A test of cleaning therefore only needs to check that SECRET does not occur in the cleaned file.
"""
import io
import json
import math
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

from PIL import Image, ImageDraw

RED, GREEN, BLUE, YELLOW = (220, 30, 30), (30, 180, 40), (30, 40, 210), (240, 220, 40)
SECRET = b"SECRET"
manifest = {}


# ---------------------------------------------------------------- pictures

def quadrants(size=(64, 48)):
    w, h = size
    im = Image.new("RGB", size, RED)
    d = ImageDraw.Draw(im)
    d.rectangle([w // 2, 0, w, h // 2 - 1], fill=GREEN)
    d.rectangle([0, h // 2, w // 2 - 1, h], fill=BLUE)
    d.rectangle([w // 2, h // 2, w, h], fill=YELLOW)
    return im


def smooth(size):
    """Returns soft color waves: close enough to a photo for encoders, and small when compressed."""
    w, h = size
    small = Image.new("RGB", (64, 48))
    px = small.load()
    for y in range(48):
        for x in range(64):
            px[x, y] = (int(127 + 120 * math.sin(x / 9 + y / 17)),
                        int(127 + 120 * math.sin(x / 23 - y / 7 + 1)),
                        int(127 + 120 * math.cos(x / 13 + y / 29)))
    return small.resize(size, Image.Resampling.BICUBIC)


def fine(size):
    """Returns a zone plate, which shows aliasing and half-pixel shifts of a resampler."""
    w, h = size
    im = Image.new("L", size)
    k = math.pi / (w * 1.1)
    im.putdata([int(127.5 + 127.5 * math.cos(k * ((x - w / 2) ** 2 + (y - h / 2) ** 2)))
                for y in range(h) for x in range(w)])
    return im.convert("RGB")


# The stored picture is the upright picture transposed so that applying the EXIF orientation gives the upright picture.
INVERSE = {1: None, 2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
           4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90,
           7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_270}


def stored(upright, orientation):
    how = INVERSE[orientation]
    return upright if how is None else upright.transpose(how)


# ---------------------------------------------------------------- metadata

def tiff(orientation=1, big=False, gps=True, private=True, kind=3, thumbnail=b""):
    """Returns the TIFF block of an Exif segment: IFD0, Exif IFD, GPS IFD and IFD1 with a thumbnail."""
    e = ">" if big else "<"
    SHORT, LONG, ASCII, RATIONAL, UNDEFINED = 3, 4, 2, 5, 7
    size = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1}

    def ifd(entries, at, following=0):
        entries = sorted(entries)
        head = struct.pack(e + "H", len(entries))
        data_at = at + 2 + 12 * len(entries) + 4
        data = b""
        for tag, typ, payload in entries:
            count = len(payload) // size[typ]
            head += struct.pack(e + "HHI", tag, typ, count)
            if len(payload) <= 4:
                head += payload.ljust(4, b"\0")
            else:
                head += struct.pack(e + "I", data_at + len(data))
                data += payload + b"\0" * (len(payload) & 1)
        return head + struct.pack(e + "I", following) + data

    short = lambda v: struct.pack(e + "H", v)
    long = lambda v: struct.pack(e + "I", v)
    rational = lambda *v: b"".join(struct.pack(e + "II", a, b) for a, b in v)
    value = {1: bytes([orientation]), 3: short(orientation), 4: long(orientation)}[kind]

    def zero(exif_at, gps_at, following):
        entries = [(0x0112, kind, value)]
        if private:
            entries += [(0x010F, ASCII, b"SECRET maker\0"), (0x0110, ASCII, b"SECRET model\0"),
                        (0x013B, ASCII, b"SECRET artist\0"), (0x8769, LONG, long(exif_at))]
        if gps:
            entries += [(0x8825, LONG, long(gps_at))]
        return ifd(entries, 8, following)

    exif_entries = [(0x9003, ASCII, b"2024:05:06 07:08:09\0"), (0x927C, UNDEFINED, b"SECRET maker note"),
                    (0xA431, ASCII, b"SECRET serial\0")]
    gps_entries = [(0x0000, 1, b"\2\3\0\0"), (0x0001, ASCII, b"N\0"),
                   (0x0002, RATIONAL, rational((52, 1), (31, 1), (12, 1))),
                   (0x0003, ASCII, b"E\0"), (0x0004, RATIONAL, rational((13, 1), (24, 1), (18, 1))),
                   (0x001B, UNDEFINED, b"ASCII\0\0\0SECRET gps")]
    exif_at = 8 + len(zero(0, 0, 0))
    exif_block = ifd(exif_entries, exif_at) if private else b""
    gps_at = exif_at + len(exif_block)
    gps_block = ifd(gps_entries, gps_at) if gps else b""
    one_at = gps_at + len(gps_block)
    one = b""
    if thumbnail:
        fixed = 2 + 12 * 3 + 4
        one = ifd([(0x0103, SHORT, short(6)), (0x0201, LONG, long(one_at + fixed)),
                   (0x0202, LONG, long(len(thumbnail)))], one_at) + thumbnail
    return ((b"MM\0*" if big else b"II*\0") + long(8) + zero(exif_at, gps_at, one_at if one else 0)
            + exif_block + gps_block + one)


XMP = (b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
       b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
       b'xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="52,31.2N" exif:UserComment="SECRET xmp"/>'
       b'</rdf:RDF></x:xmpmeta><?xpacket end="w"?>')
IPTC = (b"Photoshop 3.0\0" b"8BIM\x04\x04\0\0" + struct.pack(">I", 18) + b"\x1c\x02\x5a\x00\x0dSECRET city!!\0"[:19])


def icc(name, colorants, curve, space=b"RGB "):
    """Returns a small matrix (or gray) ICC v4 profile. Real profiles differ only in their descriptions."""
    fixed = lambda v: struct.pack(">i", round(v * 65536))
    xyz = lambda v: b"XYZ \0\0\0\0" + b"".join(fixed(c) for c in v)
    text = lambda s: (b"mluc\0\0\0\0" + struct.pack(">II2s2sII", 1, 12, b"en", b"US", 2 * len(s), 28)
                      + s.encode("utf-16-be"))
    tags = [(b"desc", text("KEEP " + name)), (b"cprt", text("CC0")), (b"wtpt", xyz((0.9642, 1, 0.8249)))]
    if space == b"RGB ":
        tags += [(t, xyz(c)) for t, c in zip((b"rXYZ", b"gXYZ", b"bXYZ"), colorants)]
        tags += [(t, curve) for t in (b"rTRC", b"gTRC", b"bTRC")]
    else:
        tags += [(b"kTRC", curve)]
    table, body, at = struct.pack(">I", len(tags)), b"", 128 + 4 + 12 * len(tags)
    seen = {}
    for tag, payload in tags:
        payload = payload.ljust(-(-len(payload) // 4) * 4, b"\0")
        if payload not in seen:
            seen[payload] = at + len(body)
            body += payload
        table += tag + struct.pack(">II", seen[payload], len(payload))
    head = struct.pack(">I4sI4s4s4s12s4s4sIII", 128 + len(table) + len(body), b"\0\0\0\0", 0x04300000, b"mntr", space,
                       b"XYZ ", struct.pack(">6H", 2024, 1, 1, 0, 0, 0), b"acsp", b"\0\0\0\0", 0, 0, 0)
    head = head + b"\0" * 8 + struct.pack(">I", 0) + struct.pack(">3i", 63190, 65536, 54061)
    return head.ljust(128, b"\0") + table + body


def para_srgb():
    f = lambda v: struct.pack(">i", round(v * 65536))
    return b"para\0\0\0\0\0\3\0\0" + f(2.4) + f(1 / 1.055) + f(0.055 / 1.055) + f(1 / 12.92) + f(0.04045)


def gamma(v):
    return b"para\0\0\0\0\0\0\0\0" + struct.pack(">i", round(v * 65536))


DISPLAY_P3 = icc("Display P3", [(0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407)],
                 para_srgb())
ADOBE_RGB = icc("Adobe RGB like",
                [(0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457)],
                gamma(2.19921875))
SRGB = icc("sRGB like", [(0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410)],
           para_srgb())
# Red and green are swapped: a picture with this profile looks obviously wrong if the profile is dropped.
SWAPPED = icc("swapped red and green",
              [(0.38515, 0.71687, 0.09708), (0.43607, 0.22249, 0.01392), (0.14307, 0.06061, 0.71410)], para_srgb())
GREY = icc("Grey gamma 2.2", None, gamma(2.2), b"GRAY")


# ---------------------------------------------------------------- JPEG

def jpeg(im, quality=90, **options):
    out = io.BytesIO()
    im.save(out, "JPEG", quality=quality, **options)
    return out.getvalue()


def segment(marker, payload):
    return struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload


def exif_segment(block):
    return segment(0xE1, b"Exif\0\0" + block)


def icc_segments(profile, step=65519):
    parts = [profile[i:i + step] for i in range(0, len(profile), step)]
    return b"".join(segment(0xE2, b"ICC_PROFILE\0" + bytes([i + 1, len(parts)]) + p) for i, p in enumerate(parts))


def insert(data, *segments, after_jfif=True):
    at = 2
    if after_jfif and data[2:4] == b"\xff\xe0":
        at = 4 + struct.unpack(">H", data[4:6])[0]
    return data[:at] + b"".join(segments) + data[at:]


def segments_of(data):
    """Yields (marker, start, end) for each segment up to and including the first SOS header."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        end = at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
        yield data[at + 1], at, end
        if data[at + 1] == 0xDA:
            return
        at = end


def without(data, marker):
    for m, start, end in segments_of(data):
        if m == marker:
            return data[:start] + data[end:]
    return data


def patched_size(data, w, h):
    for m, start, end in segments_of(data):
        if m in (0xC0, 0xC1, 0xC2):
            return data[:start + 5] + struct.pack(">HH", h, w) + data[start + 9:]
    raise ValueError


def ink(rgb):
    """Returns an RGB picture as CMYK with half of the possible black removed, so that all four channels are in use."""
    r, g, b = rgb.split()
    out = Image.new("CMYK", rgb.size)
    src, dst = rgb.load(), out.load()
    for y in range(rgb.height):
        for x in range(rgb.width):
            r, g, b = src[x, y]
            k = (255 - max(r, g, b)) // 2
            dst[x, y] = tuple(round(255 * (1 - v / (255 - k))) for v in (r, g, b)) + (k,)
    return out


def cmyk_jpegs(rgb):
    """Returns Adobe CMYK (inverted), CMYK without the Adobe marker (not inverted) and Adobe YCCK (inverted)."""
    im = ink(rgb)
    adobe = jpeg(im, 95, subsampling=0)                        # Pillow inverts and writes APP14 with transform 0.
    inverted = Image.eval(im, lambda v: 255 - v)
    plain = without(jpeg(inverted, 95, subsampling=0), 0xEE)   # Inverted twice, so the values are unchanged.
    ycck = Image.new("CMYK", im.size)
    src, dst = im.load(), ycck.load()
    for y in range(im.height):
        for x in range(im.width):
            c, m, ye, k = (255 - v for v in src[x, y])         # The inverted values in the file.
            r, g, b = 255 - c, 255 - m, 255 - ye               # The decoder computes C = 255 - R.
            yy = 0.299 * r + 0.587 * g + 0.114 * b
            cb, cr = 128 + (b - yy) / 1.772, 128 + (r - yy) / 1.402
            dst[x, y] = tuple(255 - min(255, max(0, round(v))) for v in (yy, cb, cr)) + (255 - k,)
    data = jpeg(ycck, 95, subsampling=0)
    for m, start, end in segments_of(data):
        if m == 0xEE:
            data = data[:start + 15] + b"\2" + data[start + 16:]
    return adobe, plain, data


# ---------------------------------------------------------------- PNG

def chunk(name, payload):
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(w, h, pixel, depth=8, colour=2, interlaced=False, before=b"", after=b"", level=9):
    """Returns a PNG of any kind. pixel(x, y) returns a tuple of samples (color type 0: 1, 2: 3, 3: 1, 4: 2, 6: 4)."""
    def rows(xs, ys):
        out = bytearray()
        for y in ys:
            out.append(0)
            bits, used = 0, 0
            for x in xs:
                for s in pixel(x, y):
                    if depth == 16:
                        out += struct.pack(">H", s)
                    elif depth == 8:
                        out.append(s)
                    else:
                        bits, used = bits << depth | s, used + depth
                        if used == 8:
                            out.append(bits)
                            bits, used = 0, 0
            if used:
                out.append(bits << (8 - used))
        return bytes(out)

    if interlaced:
        raw = b"".join(rows(range(x0, w, dx), range(y0, h, dy)) for x0, y0, dx, dy in ADAM7 if x0 < w and y0 < h)
    else:
        raw = rows(range(w), range(h))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, int(interlaced)))
            + before + chunk(b"IDAT", zlib.compress(raw, level)) + after + chunk(b"IEND", b""))


def png_bomb(w, h, depth=1, colour=0):
    row = b"\0" + b"\0" * ((w * depth * {0: 1, 2: 3, 6: 4}[colour] + 7) // 8)
    z = zlib.compressobj(9)
    body = b"".join(z.compress(row) for _ in range(h)) + z.flush()
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, 0))
            + chunk(b"IDAT", body) + chunk(b"IEND", b""))


# ---------------------------------------------------------------- WebP, GIF

def webp(im, **options):
    out = io.BytesIO()
    im.save(out, "WEBP", **options)
    return out.getvalue()


def gif_blocks(data):
    return b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255)) + b"\0"


def gif_with(data, *extensions):
    """Inserts extensions between the global color table and the first frame."""
    at = 13 + (3 << ((data[10] & 7) + 1) if data[10] & 0x80 else 0)
    return data[:at] + b"".join(extensions) + data[at:]


GIF_COMMENT = b"\x21\xfe" + gif_blocks(b"SECRET comment")
# XMP in GIF does not use sub-blocks. It is a raw packet with a 258-byte trailer that makes block readers end at 0.
GIF_XMP = b"\x21\xff\x0bXMP DataXMP" + XMP + b"\x01" + bytes(range(255, -1, -1)) + b"\0"


# ---------------------------------------------------------------- all of them

def main():
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "pictures")
    out.mkdir(parents=True, exist_ok=True)

    def put(name, data, **facts):
        (out / name).write_bytes(data)
        manifest[name] = facts

    def ok(name, data, w=64, h=48, type=None, orientation=1, alpha=False, frames=1, **more):
        put(name, data, verdict="ok", type=type or name.rsplit(".", 1)[1].replace("jpg", "jpeg"), width=w, height=h,
            orientation=orientation, alpha=alpha, frames=frames, **more)

    q = quadrants()
    base = jpeg(q)

    # EXIF orientation: both byte orders, and locations in other formats than JPEG
    for o in range(1, 9):
        s = stored(q, o)
        ok(f"orientation-{o}.jpg", insert(jpeg(s), exif_segment(tiff(o, big=o % 2 == 0, gps=False, private=False))),
           *s.size, orientation=o)
    s6 = stored(q, 6)
    ok("orientation-6-before-jfif.jpg", insert(jpeg(s6), exif_segment(tiff(6, gps=False)), after_jfif=False), *s6.size,
       orientation=6)
    ok("orientation-6-long.jpg", insert(jpeg(s6), exif_segment(tiff(6, kind=4, gps=False))), *s6.size, orientation=6)
    ok("orientation-9-unknown.jpg", insert(base, exif_segment(tiff(9, gps=False))))
    loop = bytearray(tiff(1, gps=False, private=False))
    loop[-4:] = struct.pack("<I", 8)                                                # The next IFD is this IFD.
    ok("exif-loop.jpg", insert(base, exif_segment(bytes(loop))))
    wild = bytearray(tiff(1))
    wild[4:8] = b"\xf0\xff\xff\xff"                                                 # IFD0 is far outside of the file.
    ok("exif-wild-offset.jpg", insert(base, exif_segment(bytes(wild))))
    ok("exif-count-overflow.jpg",
       insert(base, exif_segment(b"II*\0\x08\0\0\0\xff\xff" + b"\x12\x01\x03\0\xff\xff\xff\xff\0\0\0\0")))
    ok("exif-cut.jpg", insert(base, segment(0xE1, b"Exif\0\0II*\0\x08")))

    # JPEG kinds
    ok("plain.jpg", base)
    ok("progressive.jpg", jpeg(q, progressive=True))
    ok("grey.jpg", jpeg(q.convert("L")))
    ok("rgb-not-ycc.jpg", jpeg(q, keep_rgb=True))
    adobe, plain, ycck = cmyk_jpegs(q)
    ok("cmyk-adobe.jpg", adobe)
    ok("cmyk-plain.jpg", plain,
       note="decoders disagree: gd renders it correctly, browsers, Pillow and ImageMagick invert it; test no colors")
    ok("ycck-adobe.jpg", ycck)
    ok("photo-1600x1200.jpg", jpeg(smooth((1600, 1200)), 80), 1600, 1200)
    ok("panorama-2000x20.jpg", jpeg(smooth((2000, 20)), 80), 2000, 20)          # 1080 x 11, thumbnail 240 x 2
    ok("zone-600x450.jpg", jpeg(fine((600, 450)).convert("L"), 70), 600, 450)
    ok("one-pixel.jpg", jpeg(q.crop((0, 0, 1, 1))), 1, 1)

    # color profiles
    ok("p3.jpg", insert(base, icc_segments(DISPLAY_P3)), icc=len(DISPLAY_P3))
    ok("adobe-rgb.jpg", insert(base, icc_segments(ADOBE_RGB)), icc=len(ADOBE_RGB))
    ok("swapped-profile.jpg",
       insert(jpeg(Image.merge("RGB", [q.split()[i] for i in (1, 0, 2)])), icc_segments(SWAPPED)), icc=len(SWAPPED))
    ok("p3-in-three-parts.jpg", insert(base, icc_segments(DISPLAY_P3, 200)), icc=len(DISPLAY_P3))
    ok("grey-profile.jpg", insert(jpeg(q.convert("L")), icc_segments(GREY)), icc=len(GREY))

    # broken JPEG
    noise = jpeg(fine((256, 192)), 85)
    put("truncated.jpg", noise[:len(noise) * 6 // 10], verdict="corrupt")
    prog = jpeg(fine((256, 192)), 85, progressive=True)
    put("truncated-progressive.jpg", prog[:len(prog) * 6 // 10], verdict="corrupt")
    put("truncated-in-last-mcu.jpg", noise[:-12], verdict="corrupt")
    put("no-end-marker.jpg", noise[:-2], verdict="corrupt", note="only FFD9 is missing; all pixels are present")
    put("hole.jpg", noise[:len(noise) // 2] + noise[len(noise) // 2 + 3000:], verdict="corrupt", by="decoder",
        note="FFD9 is present")
    put("truncated-in-header.jpg", noise[:200], verdict="corrupt")
    put("only-soi.jpg", b"\xff\xd8", verdict="unknown")
    ok("extraneous-bytes.jpg", base[:-2] + b"\x12\x34\x56" + base[-2:],
       note="libjpeg warns and decodes all pixels correctly; cameras write such files")
    ok("garbage-between-segments.jpg", insert(base, b"SECRET"), private=True, note="libjpeg warns and continues")
    put("empty.jpg", b"", verdict="unknown")
    put("text.jpg", b"this is not a picture\n" * 10, verdict="unknown")
    put("short-of-lines.jpg", patched_size(noise, 256, 400), verdict="corrupt", by="decoder",
        note="SOF declares 400 lines, the file contains 192, and FFD9 is present")
    put("liar-30000.jpg", patched_size(base, 30000, 30000), verdict="too large", width=30000, height=30000)
    ok("trailing-bytes.jpg", base + b"SECRET trailing bytes", cleaned_length=len(base))

    # PNG kinds
    px = q.load()
    rgb = lambda x, y: px[x, y]
    ramp = lambda x: x * 255 // 63
    ok("plain.png", png(64, 48, rgb))
    ok("interlaced.png", png(64, 48, rgb, interlaced=True))
    ok("rgb16.png", png(64, 48, lambda x, y: tuple(v * 257 for v in px[x, y]), 16))
    ok("rgba.png", png(64, 48, lambda x, y: px[x, y] + (ramp(x),), 8, 6), alpha=True)
    ok("rgba16.png", png(64, 48, lambda x, y: tuple(v * 257 for v in px[x, y]) + (x * 65535 // 63,), 16, 6),
       alpha=True)
    ok("rgba16-interlaced.png",
       png(64, 48, lambda x, y: tuple(v * 257 for v in px[x, y]) + (x * 65535 // 63,), 16, 6, True), alpha=True)
    ok("hidden-colour.png",
       png(64, 48, lambda x, y: (255, 0, 0, 255) if (x // 2 + y // 2) % 2 else (0, 255, 0, 0), 8, 6), alpha=True,
       note="the green pixels are fully transparent: scaled down on white, the result is pink, never green or gray")
    ok("grey-alpha.png", png(64, 48, lambda x, y: (60, ramp(x)), 8, 4), alpha=True)
    ok("grey16.png", png(64, 48, lambda x, y: (x * 65535 // 63,), 16, 0))
    ok("grey1.png", png(64, 48, lambda x, y: ((x // 8 + y // 8) % 2,), 1, 0))
    plte = chunk(b"PLTE", bytes(RED + GREEN + BLUE + YELLOW))
    which = lambda x, y: ((x >= 32) + 2 * (y >= 24),)
    ok("palette.png", png(64, 48, which, 2, 3, before=plte))
    ok("palette-alpha.png", png(64, 48, which, 2, 3, before=plte + chunk(b"tRNS", b"\0\x80")), alpha=True,
          note="red is fully transparent, green half")
    ok("rgb-colour-key.png", png(64, 48, rgb, before=chunk(b"tRNS", struct.pack(">3H", *RED))), alpha=True,
       note="red is transparent")
    ok("grey-colour-key.png",
       png(64, 48, lambda x, y: ((60, 120, 180, 240)[which(x, y)[0]],), 8, 0,
           before=chunk(b"tRNS", struct.pack(">H", 60))), alpha=True, note="60 (top left) is transparent")
    ok("p3.png", png(64, 48, rgb, before=chunk(b"iCCP", b"p3\0\0" + zlib.compress(DISPLAY_P3, 9))),
       icc=len(DISPLAY_P3))
    ok("orientation-6.png",
       png(48, 64, lambda x, y, p=s6.load(): p[x, y], before=chunk(b"eXIf", tiff(6, big=True))), 48, 64, orientation=6)
    frame = lambda n: chunk(b"fcTL", struct.pack(">IIIIIHHBB", n, 64, 48, 0, 0, 1, 10, 0, 0))
    second = zlib.compress(b"".join(b"\0" + bytes(YELLOW) * 64 for _ in range(48)), 9)
    ok("animated.png", png(64, 48, rgb, before=chunk(b"acTL", struct.pack(">II", 2, 0)) + frame(0),
                           after=frame(1) + chunk(b"fdAT", struct.pack(">I", 2) + second)), frames=2)
    whole = png(64, 48, lambda x, y: tuple((a * (x + 3) * (y + 5)) % 256 for a in (7, 11, 13)))
    put("truncated.png", whole[:len(whole) * 6 // 10], verdict="corrupt")
    bad = bytearray(whole)
    bad[len(bad) // 2] ^= 0x55
    put("bad-crc.png", bytes(bad), verdict="corrupt", by="decoder")
    put("no-end-chunk.png", whole[:-12], verdict="corrupt")
    put("bomb-30000-1bit.png", png_bomb(30000, 30000), verdict="too large", width=30000, height=30000)
    put("zero-width.png",
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 0, 48, 8, 2, 0, 0, 0)) + chunk(b"IEND", b""),
        verdict="corrupt")

    # GIF
    def gif(frames, **options):
        b = io.BytesIO()
        frames[0].save(b, "GIF", save_all=len(frames) > 1, append_images=frames[1:], **options)
        return b.getvalue()
    pal = q.quantize(8)
    still = gif([pal])
    ok("still.gif", still)
    flip = q.transpose(Image.Transpose.ROTATE_180).quantize(8)
    moving = gif([pal, flip, pal.copy()], duration=100, loop=0)
    ok("animated.gif", moving, frames=3, alpha=True)
    ok("private.gif", gif_with(moving, GIF_COMMENT, GIF_XMP), frames=3, alpha=True, private=True)
    put("truncated.gif", still[:len(still) * 6 // 10], verdict="corrupt")
    put("huge-screen.gif", still[:6] + struct.pack("<HH", 65535, 65535) + still[10:], verdict="too large",
        width=65535, height=65535)

    # WebP
    ok("lossy.webp", webp(q, quality=90))
    ok("lossless.webp", webp(q, lossless=True))
    alpha = Image.merge("RGBA", q.split() + (Image.linear_gradient("L").rotate(90).resize(q.size),))
    ok("alpha.webp", webp(alpha, lossless=True), alpha=True)
    ok("alpha-lossy.webp", webp(alpha, quality=90), alpha=True)
    moving = webp(q, save_all=True, append_images=[q.transpose(Image.Transpose.ROTATE_180)], duration=100,
                  lossless=True)
    ok("animated.webp", moving, frames=2)
    ok("orientation-6.webp", webp(s6, quality=90, exif=b"Exif\0\0" + tiff(6), xmp=XMP, icc_profile=DISPLAY_P3), 48, 64,
       orientation=6, icc=len(DISPLAY_P3), private=True)
    w256 = webp(fine((256, 192)), quality=80)
    put("truncated.webp", w256[:len(w256) * 6 // 10], verdict="corrupt")
    put("bomb-16383.webp", webp(Image.new("RGB", (16383, 16383), RED), lossless=True, method=0), verdict="too large",
        width=16383, height=16383)

    # all kinds of private data in one file
    thumb = insert(jpeg(q.resize((16, 12)), 60), segment(0xFE, b"SECRET in the thumbnail"))
    second_image = insert(jpeg(q.resize((32, 24)), 60), exif_segment(tiff(1)))
    ext = segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0" + b"0" * 32 + struct.pack(">II", 14, 0)
                  + b"SECRET xmp ext")
    mpf = segment(0xE2, b"MPF\0II*\0\x08\0\0\0\0\0\0\0\0\0SECRET mpf")
    body = insert(jpeg(s6, 90), exif_segment(tiff(6, big=True, thumbnail=thumb)),
                  segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + XMP), ext, icc_segments(DISPLAY_P3, 300), mpf,
                  segment(0xED, IPTC), segment(0xEB, b"JP\0\1\0\0\0\1SECRET c2pa"), segment(0xEC, b"Ducky SECRET"),
                  segment(0xE0, b"JFXX\0\x10SECRET jfxx"), segment(0xFE, b"SECRET comment"))
    ok("private.jpg", body + second_image + b"SECRET motion photo", 48, 64, orientation=6, icc=len(DISPLAY_P3),
       private=True)
    ok("private-cmyk.jpg", insert(adobe, exif_segment(tiff(1)), after_jfif=False), private=True,
       note="without APP14 the colors are inverted")
    texts = (chunk(b"tEXt", b"Comment\0SECRET text") + chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"SECRET ztxt"))
             + chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP)
             + chunk(b"tIME", struct.pack(">H5B", 2024, 5, 6, 7, 8, 9))
             + chunk(b"eXIf", tiff(6)) + chunk(b"prVt", b"SECRET unknown chunk"))
    ok("private.png",
       png(48, 64, lambda x, y, p=s6.load(): p[x, y],
           before=chunk(b"iCCP", b"p3\0\0" + zlib.compress(DISPLAY_P3, 9)) + texts,
           after=chunk(b"tEXt", b"Late\0SECRET late")) + b"SECRET trailing",
       48, 64, orientation=6, icc=len(DISPLAY_P3), private=True)

    # HEIC, AVIF
    if shutil.which("heif-enc"):
        tmp = out / "heic-source.jpg"
        for name, image, o in (("plain.heic", q, 1), ("private-6.heic", s6, 6),
                               ("odd-width.heic", q.crop((0, 0, 50, 38)), 1)):
            tmp.write_bytes(insert(jpeg(image, 95, subsampling=0), exif_segment(tiff(o)) if o == 6 else b"",
                                   segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + XMP) if o == 6 else b""))
            subprocess.run(["heif-enc", "-q", "80", str(tmp), "-o", str(out / name)], check=True, capture_output=True)
            ok(name, (out / name).read_bytes(), *image.size, type="heic", private=o == 6,
               note="in HEIF the Exif orientation has no effect")
        tmp.unlink()
    for o in range(1, 9):
        b = io.BytesIO()                                       # Pillow writes irot and imir from the Exif orientation.
        s = stored(q, o)
        s.save(b, "AVIF", quality=90, speed=8, subsampling="4:4:4", max_threads=1, exif=tiff(o), xmp=XMP,
               icc_profile=DISPLAY_P3)
        ok(f"orientation-{o}.avif", b.getvalue(), *s.size, orientation=o, icc=len(DISPLAY_P3), private=True)

    (out / "pictures.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    total = sum(p.stat().st_size for p in out.iterdir())
    print(f"{len(manifest)} pictures, {total} bytes in {out}")

    if "--big" in sys.argv:
        big = Path(sys.argv[sys.argv.index("--big") + 1])
        big.mkdir(parents=True, exist_ok=True)
        photo = smooth((4032, 3024))
        grain = fine((1008, 756)).resize((4032, 3024), Image.Resampling.BICUBIC).convert("L")
        photo = Image.blend(photo, Image.merge("RGB", [grain] * 3), 0.25)
        (big / "12mp.jpg").write_bytes(insert(jpeg(photo, 92), exif_segment(tiff(6)), icc_segments(DISPLAY_P3)))
        (big / "12mp-progressive.jpg").write_bytes(jpeg(photo, 92, progressive=True))
        photo.save(big / "12mp.png", compress_level=6)
        photo.save(big / "12mp.webp", quality=85)
        (big / "bomb-30000-rgb.png").write_bytes(png_bomb(30000, 30000, 8, 2))


if __name__ == "__main__":
    main()
