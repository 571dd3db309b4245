"""Encoders by shared libraries of the system: what zlib and Zstandard make decodes on every device; levels, forms of algorithms, and
libraries that are damaged or lie. A library that is not installed is skipped, by its name.

Usage: test_libraries.py ZFC"""

import ctypes
import json
import random
import sys
import unittest

from zfc_case import Case, cache_of_module

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
table deflate { c: u8 = raw_deflate; }
table zlib { c: u8 = raw_zlib(level: 0); }
table gzip { c: u8 = raw_gzip; }
table zstd { c: u8 = raw_zstd; }
table deflate_9 { c: u8 = raw_deflate(level: 9); }
table deflate_10 { c: u8 = raw_deflate(level: 10); }
table zlib_low { c: u8 = raw_zlib(level: -100); }
table zlib_usual { c: u8 = raw_zlib; }
table zstd_23 { c: u8 = raw_zstd(level: 23); }
table words { c: u32 = of_words; }
table two { c: u8 = of_two; }
table pairs { c: u8 = of_pairs; }
table half { c: u8 = of_half; }
"""


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
        return "encode", "-c", f"{self.program}:{table}", f"c={self.dir / 'c'}", "-o", self.dir / "t.zfd", "-f"

    def encode(self, table, data, *more, **options):
        return self.good(*self.words(table, data), *more, **options)

    def refused(self, table, data, *says, **options):
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
