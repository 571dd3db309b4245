"""Encoders by shared libraries of the system: what they make is stored as it is, and decodes on every device; levels, forms of
algorithms, and libraries that are damaged or lie. A library that is not installed is skipped, by its name.

Usage: test_libraries.py ZFC LYING_CODECS.so"""

import ctypes
import json
import os
import pathlib
import random
import shutil
import sys
import unittest

from zfc_case import Case, cache_of_module

LYING = pathlib.Path(sys.argv[2])
CHUNK = 65536
# Decoders of what these libraries make of data that does not compress: blocks with the bytes as they are.
PROGRAM = """
algorithm raw_deflate(src: u8[] per chunk, param level: u8 = 0) -> u8[] non_parallel(chunk = 65536) {
    decode {
        while out.pos < out.len {
            require src.u8() <= 1;
            let n: u64 = src.u16();
            require src.u16() as u64 == 65535 - n;
            let from = src.pos;
            emit k in 0..n: src[from + k];
            src.skip(n);
        }
    }
    encode extern "deflate";
}
algorithm raw_zlib(src: u8[] per chunk, param level: i32) -> u8[] non_parallel(chunk = 65536) {
    decode {
        require src.u8() == 0x78;
        src.skip(1);
        while out.pos < out.len {
            require src.u8() <= 1;
            let n: u64 = src.u16();
            src.skip(2);
            let from = src.pos;
            emit k in 0..n: src[from + k];
            src.skip(n);
        }
        src.skip(4);
    }
    encode extern "zlib";
}
algorithm raw_gzip(src: u8[] per chunk, param level: u8 = 0) -> u8[] non_parallel(chunk = 65536) {
    decode {
        require src.u16() == 0x8b1f;
        src.skip(8);
        while out.pos < out.len {
            require src.u8() <= 1;
            let n: u64 = src.u16();
            src.skip(2);
            let from = src.pos;
            emit k in 0..n: src[from + k];
            src.skip(n);
        }
        require src.u32() != 0;
        require src.u32() as u64 == out.len;
    }
    encode extern "gzip";
}
algorithm raw_zstd(src: u8[] per chunk, param level: i8 in -7..) -> u8[] non_parallel(chunk = 65536) {
    decode {
        require src.u32() == 0xfd2fb528;
        if src.u8() == 0x20 { src.skip(1); } else { src.skip(2); }
        while out.pos < out.len {
            let head = src.le(3);
            require head & 6 == 0;
            let n = head >> 3;
            let from = src.pos;
            emit k in 0..n: src[from + k];
            src.skip(n);
        }
    }
    encode extern "zstd";
}
algorithm of_words(src: u8[] per chunk) -> u32[] non_parallel(chunk = 1000) {
    decode {
        require src.u8() == 1;
        src.skip(4);
        while out.pos < out.len { emit src.u32(); }
    }
    encode extern "deflate";
}
algorithm of_two(src: u8[] per chunk, more: u8[] per chunk) -> u8[] non_parallel(chunk = 1000) {
    decode { while !src.at_end() { emit src.u8(); } }
    encode extern "deflate";
}
algorithm of_pairs(src: u16[] per chunk) -> u8[] non_parallel(chunk = 1000) {
    decode { for v in src { emit v as u8; } }
    encode extern "deflate";
}
algorithm of_half(src: u8[] per chunk, param level: f32 = 6.5) -> u8[] non_parallel(chunk = 1000) {
    decode { while !src.at_end() { emit src.u8(); } }
    encode extern "deflate";
}
table t_lz4 { c: u8 = lz4_lib; }
table t_lz4_0 { c: u8 = lz4_lib(level: 0); }
table t_lz4_1 { c: u8 = lz4_lib(level: 1); }
table t_lz4_12 { c: u8 = lz4_lib(level: 12); }
table t_lz4_small { c: u8 = lz4_lib(chunk: 700); }
table t_lz4_or { c: u8 = lz4_lib | lz4; }
table t_lz4_plain { c: u8 = plain | lz4_lib; }
table t_lz4_own { c: u8 = lz4; }
table t_snappy { c: u8 = snappy_lib; }
table t_snappy_small { c: u8 = snappy_lib(chunk: 700); }
table t_snappy_or { c: u8 = snappy_lib | snappy; }
table t_texts { c: string = strings(lengths: bitpack, bytes: lz4_lib); }
table t_deflate { c: u8 = raw_deflate; }
table t_zlib { c: u8 = raw_zlib(level: 0); }
table t_gzip { c: u8 = raw_gzip; }
table t_zstd { c: u8 = raw_zstd; }
table t_deflate_9 { c: u8 = raw_deflate(level: 9); }
table t_deflate_10 { c: u8 = raw_deflate(level: 10); }
table t_zlib_low { c: u8 = raw_zlib(level: -100); }
table t_zlib_usual { c: u8 = raw_zlib; }
table t_zstd_23 { c: u8 = raw_zstd(level: 23); }
table t_words { c: u32 = of_words; }
table t_two { c: u8 = of_two; }
table t_pairs { c: u8 = of_pairs; }
table t_half { c: u8 = of_half; }
table t_deflate_or { c: u8 = deflate_lib | deflate; }
""" + "".join(f"table t_{codec}_lib_{level + 7} {{ c: u8 = {codec}_lib(level: {level}{check}); }}\n" for codec, levels, check in (
    ("deflate", (0, 1, 5, 6, 9), ""), ("zlib", (1, 6), ", check: 1"), ("gzip", (5, 6), ", check: 1"), ("zstd", (-7, 1, 3, 22), "")) for level in levels)


def words(count):
    """Text that compresses."""
    numbers = random.Random(count)
    return b" ".join(numbers.choice((b"alpha", b"beta", b"gamma", b"delta", b"epsilon")) + b"%d" % numbers.randrange(99) for _ in range(count))


def chunks_of(data, size=CHUNK):
    return [data[at:at + size] for at in range(0, len(data), size)]


def setUpModule():
    cache_of_module()


def library(name):
    """A decorator: skips a test where the library is not installed."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return unittest.skip(f"{name} is not installed")
    return lambda test: test


class Libraries(Case):
    def setUp(self):
        super().setUp()
        self.program = self.file("p.zf", PROGRAM)

    def words(self, table, data):
        self.file("c", data)
        return "encode", "-c", f"{self.program}:t_{table}", f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f"

    def encode(self, table, data, *more, **options):
        return self.good(*self.words(table, data), *more, **options)

    def refused(self, table, data, *says, **options):
        (self.dir / "t.zfd").unlink(missing_ok=True)
        result = self.bad(1, *self.words(table, data), says=says, **options)
        self.assertFalse((self.dir / "t.zfd").exists())
        return result

    def check(self, data, kind="u8"):
        for device in ("cpu", "emu"):
            out = self.dir / "out"
            self.good("decode", self.dir / "t.zfd", "-o", out, "-f", "-q", "--device", device)
            self.assertTrue((out / f"c.{kind}").read_bytes() == data, device)

    def column(self):
        return json.loads(self.good("inspect", self.dir / "t.zfd", "--json"))["columns"][0]

    def round_trips(self, table, *counts):
        for count in counts:
            data = random.Random(count).randbytes(count)
            self.encode(table, data, "-q")
            self.check(data)

    def stored(self):
        return sum(stream["bytes"] for block in self.column()["blocks"] for stream in block["streams"])

    def holds(self, data, table, made, size=CHUNK):
        """Encodes: the file has these chunks, one behind the other, and decodes."""
        self.encode(table, data, "-q")
        self.assertTrue(b"".join(made) in (self.dir / "t.zfd").read_bytes(), table)
        self.assertEqual(self.stored(), sum(map(len, made)))
        self.check(data)

    @library("liblz4.so.1")
    def test_lz4(self):
        lz4 = ctypes.CDLL("liblz4.so.1")

        def block(plain, level):
            out = ctypes.create_string_buffer(len(plain) + len(plain) // 255 + 16)
            made = (lz4.LZ4_compress_HC(plain, out, len(plain), len(out), level) if level else
                    lz4.LZ4_compress_default(plain, out, len(plain), len(out)))
            self.assertGreater(made, 0)
            return out.raw[:made]
        data = words(30_000)
        sizes = []
        for table, level in (("lz4_0", 0), ("lz4_1", 1), ("lz4", 9), ("lz4_12", 12)):
            self.holds(data, table, [block(plain, level) for plain in chunks_of(data)])
            sizes.append(self.stored())
        self.assertEqual(sizes, sorted(set(sizes), reverse=True))  # each level is smaller
        self.encode("lz4_own", data, "-q")
        self.assertLess(sizes[2], self.stored())
        self.holds(data, "lz4_small", [block(plain, 9) for plain in chunks_of(data, 700)], 700)
        for noise in (b"x", random.Random(5).randbytes(CHUNK + 3)):  # larger than its bytes
            self.holds(noise, "lz4", [block(plain, 9) for plain in chunks_of(noise)])
        self.encode("lz4_or", data, "-q")
        self.assertEqual(self.stored(), sizes[2])
        self.encode("lz4_plain", random.Random(5).randbytes(1000), "-q")
        self.assertEqual(self.stored(), 1000)
        self.program = self.file("l.zf", "table t_high { c: u8 = lz4_lib(level: 13); }")
        self.refused("high", data, "error[ZF")

    @library("liblz4.so.1")
    def test_below_strings(self):
        lines = [b"%d %s" % (k, words(k % 7).replace(b" ", b"-")) for k in range(5000)]
        self.file("c.bytes", b"".join(lines))
        text = b"".join(line + b"\n" for line in lines)
        self.file("t.csv", b"c\n" + text)
        self.good("encode", "-c", f"{self.program}:t_texts", self.dir / "t.csv", "-o", self.dir / "t.zfd", "-q")
        for device in ("cpu", "emu"):
            self.good("decode", self.dir / "t.zfd", "--format", "csv", "-o", self.dir / "out", "-f", "-q", "--device", device)
            self.assertEqual((self.dir / "out/t_texts.csv").read_bytes(), b"c\n" + text)

    @library("libsnappy.so.1")
    def test_snappy(self):
        snappy = ctypes.CDLL("libsnappy.so.1")

        def block(plain):
            out = ctypes.create_string_buffer(32 + len(plain) + len(plain) // 6)
            made = ctypes.c_size_t(len(out))
            self.assertEqual(snappy.snappy_compress(plain, ctypes.c_size_t(len(plain)), out, ctypes.byref(made)), 0)
            return out.raw[:made.value]
        data = words(30_000)
        self.holds(data, "snappy", [block(plain) for plain in chunks_of(data)])
        self.holds(data, "snappy_small", [block(plain) for plain in chunks_of(data, 700)])
        for noise in (b"x", random.Random(5).randbytes(CHUNK + 3)):
            self.holds(noise, "snappy", [block(plain) for plain in chunks_of(noise)])

    @library("libz.so.1")
    def test_formats_of_zlib(self):
        zlib = ctypes.CDLL("libz.so.1")
        zlib.crc32.restype = ctypes.c_ulong
        data = words(20_000)

        def of_zlib(plain, level):
            out = ctypes.create_string_buffer(2 * len(plain) + 100)
            made = ctypes.c_ulong(len(out))
            self.assertEqual(zlib.compress2(out, ctypes.byref(made), plain, ctypes.c_ulong(len(plain)), level), 0)
            return out.raw[:made.value]

        def of_gzip(plain, level):
            crc = zlib.crc32(ctypes.c_ulong(0), plain, len(plain))
            return b"\x1f\x8b\x08" + bytes(6) + b"\x03" + of_zlib(plain, level)[2:-4] + crc.to_bytes(4, "little") + len(plain).to_bytes(4, "little")
        for codec, levels, made in (("deflate", (0, 1, 5, 6, 9), lambda plain, level: of_zlib(plain, level)[2:-4]), ("zlib", (1, 6), of_zlib),
                                    ("gzip", (5, 6), of_gzip)):
            for level in levels:
                self.holds(data, f"{codec}_lib_{level + 7}", [made(plain, level) for plain in chunks_of(data)])
        self.encode("deflate_or", data, "-q")
        self.assertEqual(self.stored(), sum(len(of_zlib(plain, 6)) - 6 for plain in chunks_of(data)))

    @library("libzstd.so.1")
    def test_frames_of_zstd(self):
        zstd = ctypes.CDLL("libzstd.so.1")
        zstd.ZSTD_compress.restype = ctypes.c_size_t
        data = words(20_000)
        for level in (-7, 1, 3, 22):
            frames = []
            for plain in chunks_of(data):
                out = ctypes.create_string_buffer(2 * len(plain) + 100)
                made = zstd.ZSTD_compress(out, ctypes.c_size_t(len(out)), plain, ctypes.c_size_t(len(plain)), level)
                self.assertLessEqual(made, len(out))
                frames.append(out.raw[:made])
            self.holds(data, f"zstd_lib_{level + 7}", frames)

    # ---- Libraries that are damaged or lie ------------------------------------------------------------------------

    def in_place_of(self, name, content=None):
        """An environment in which the library is another one."""
        place = self.dir / "lib"
        place.mkdir(exist_ok=True)
        (place / name).unlink(missing_ok=True)
        if content is None:
            shutil.copy(LYING, place / name)
        else:
            (place / name).write_bytes(content)
        return {**os.environ, "LD_LIBRARY_PATH": str(place)}

    def test_missing(self):
        """A library that cannot be opened: its name, its package, and the encoder of the language in its place."""
        data = words(30_000)
        for table, name, package in (("lz4", "liblz4.so.1", "liblz4-1"), ("snappy", "libsnappy.so.1", "libsnappy1v5")):
            environment = self.in_place_of(name, b"")
            text = f"`{table}_lib` is encoded by `extern \"{table}\"`: "
            self.refused(table, data, "error[ZF0605]", text, name, f"(Debian's package {package} has the library)", env=environment)
            for more in ((), ("-v",)):
                result = self.zfc(*self.words(f"{table}_or", data), "--rows-per-block", 40_000, *more, env=environment)
                self.assertEqual(result.returncode, 0, result.stderr)
                told = [line for line in result.stderr.splitlines() if text in line]
                self.assertEqual(len(told), 1 if not more else len(self.column()["blocks"]), result.stderr)
                self.assertIn(name, told[0])
                if not more:
                    self.assertEqual((told[0][:18], told[0][-31:]), ("zfc encode: note: ", "; other alternatives were taken"))
                self.check(data)
            self.assertNotIn(text, self.zfc(*self.words(f"{table}_or", data), "-q", env=environment).stderr)

    def test_older(self):
        """A library without a function that is needed."""
        environment = self.in_place_of("liblz4.so.1")
        shutil.copy(LYING.with_name(LYING.name.replace("lying_codecs", "cut_file")), self.dir / "lib/liblz4.so.1")
        self.refused("lz4", b"abcd" * 99, "error[ZF0605]", "liblz4.so.1 has no function `LZ4_compress_default`", env=environment)

    def test_lies(self):
        data = words(30_000)
        for table, name in (("lz4", "liblz4.so.1"), ("snappy", "libsnappy.so.1")):
            environment = self.in_place_of(name)
            self.encode(table, data, "-q", env={**environment, "LYING_CODEC": "not at all"})
            self.check(data)
            self.assertGreater(self.stored(), len(data))  # literals alone: it was this library
            chunk = " (chunk 0 of the block)"
            for lie, code, text in (("none", "ZF0602", f"{name} did not compress 65536 bytes"), ("more", "ZF0602", "it reports "),
                                    ("huge", "ZF0602", "it reports 2147483647 elements of `src`, and asked for room for "),
                                    ("behind", "ZF0602", "it wrote behind the "), ("other", "ZF0601", "row 0 is 98, decoded 99"),
                                    ("garbage", "ZF13", "")):
                with self.subTest(table, lie=lie):
                    told = {**environment, "LYING_CODEC": lie}
                    self.refused(table, data, f"error[{code}", text, chunk if code == "ZF0602" else "", env=told)
                    self.encode(f"{table}_or", data, "-q", env=told)
                    self.check(data)

    @library("libz.so.1")
    def test_zlib(self):
        for table in ("deflate", "zlib", "gzip"):
            self.round_trips(table, 1, 100, CHUNK - 1, CHUNK + 1, 3 * CHUNK)

    @library("libz.so.1")
    def test_elements_of_more_bytes(self):
        """Chunks of u32 are encoded as their bytes."""
        data = random.Random(3).randbytes(4 * 2500)
        self.encode("words", data, "-q")
        self.check(data, "u32")

    @library("libzstd.so.1")
    def test_zstd(self):
        self.round_trips("zstd", 1, 255, 256, CHUNK, CHUNK + 700)

    @library("libz.so.1")
    def test_level(self):
        """A given level reaches the library: what it compresses does not decode here. One that is not given is set, and stored."""
        self.refused("deflate_9", b"abcd" * 1000, "error[ZF13")
        self.refused("deflate_10", bytes(9), "error[ZF0602]", "`raw_deflate`, by `extern \"deflate\"`, refuses: libz.so.1 has levels 0 to 9, "
                     "and `level` is 10 (chunk 0 of the block)")
        self.refused("zlib_low", bytes(9), "`level` is -100")
        data = random.Random(1).randbytes(5000)
        self.encode("zlib_usual", data, "-q")
        self.check(data)
        self.assertIn('"level": 6', json.dumps(self.column()["blocks"][0]))

    @library("libzstd.so.1")
    def test_level_of_zstd(self):
        self.refused("zstd_23", bytes(9), "libzstd.so.1 has levels -", " to 22, and `level` is 23")

    @library("libz.so.1")
    def test_forms(self):
        """Algorithms that a library cannot serve."""
        self.refused("two", bytes(9), "error[ZF0605]", "`of_two` is encoded by `extern \"deflate\"`: it makes one stream of u8")
        self.refused("pairs", bytes(9), "error[ZF0605]", "it makes one stream of u8, of numbers or booleans, and `of_pairs` has other streams")
        self.refused("half", bytes(9), "error[ZF0605]", "its param `level` must be an integer")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
