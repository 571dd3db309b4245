"""Files of other programs, which write Deflate and Zstandard each in its own way, decode: zopfli, libdeflate-gzip, 7-Zip, zstd.

Usage: test_writers.py ZFC. Tests of programs that are not installed are skipped. With ZF_TEST_SAMPLE each turn has other settings."""

import random
import shutil
import struct
import subprocess
import sys
import unittest
import zipfile

from zfc_case import Case, cache_of_module, sampled

SEVEN = next(filter(shutil.which, ("7z", "7zz", "7za")), "7z")
FEW = range(100, 1500)  # bytes that the emulated GPU decodes in no time
MOST = 1 << 18  # rows of a chunk, where texts are not longer


def setUpModule():
    cache_of_module()


def of(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


def prose(chosen, count):
    words = ["".join(chosen.choice("etaoinshrdlucmfwy") for _ in range(chosen.randrange(1, 10))) for _ in range(900)]
    return " ".join(words[min(chosen.randrange(900), chosen.randrange(900))] for _ in range(count)).encode() + b".\n"


def texts():
    chosen = random.Random("texts")
    yield "a byte", b"x"
    yield "a line", prose(chosen, 50)
    yield "numbers", b"".join(b"%d, " % (k * k) for k in range(800))
    yield "runs", b"".join(bytes([chosen.randrange(256)]) * count for count in (1, 258, 3, 2, 259, 1, 30))
    noise = chosen.randbytes(70000)  # more than a block of Deflate has as it is
    yield "noise", noise + noise[:300] + noise[-9000:]
    yield "much of all", prose(chosen, 20000) + b"".join(b"%d\n" % (k ** 3) for k in range(3000)) + bytes(40000) + chosen.randbytes(9000)


TEXTS = dict(texts())


class Writers(Case):
    def made(self, *words, plain=None):
        """Runs a program that reads `plain` as its standard input. Returns what it writes to standard output."""
        run = subprocess.run([str(word) for word in words], input=plain, capture_output=True, check=False, timeout=self.SECONDS)
        self.assertEqual(run.returncode, 0, f"{words}: {run.stderr}")
        return run.stdout

    def words(self, codecs, files, sizes=None):
        """The command that wraps each file as a column, with a list of its chunks if it has one."""
        for k, data in enumerate(files):
            self.file(f"c{k}.packed", data)
            (self.dir / f"c{k}.packed.sizes").unlink(missing_ok=True)
            if sizes:
                self.file(f"c{k}.packed.sizes", sizes[k])
        columns = "".join(f" c{k}: u8 = {codec};" for k, codec in enumerate(codecs))
        inputs = [f"c{k}={self.dir / f'c{k}.packed'}" for k in range(len(files))]
        return ("wrap", "-c", self.file("t.zf", f"table t {{{columns} }}\n"), *inputs, "-o", self.dir / "t.zfd", "-f", "-q")

    def decoded(self, device, columns):
        self.good("decode", self.dir / "t.zfd", "-o", self.dir / "out", "-f", "-q", "--device", device)
        return [(self.dir / "out" / f"c{k}.u8").read_bytes() for k in range(columns)]

    def decodes(self, codec, named, plain):
        """Files, each of which makes these bytes, as columns; on the emulated GPU, if they are small, one behind the other in one."""
        self.good(*self.words([codec] * len(named), [data for _, data in named]))
        for (name, _), found in zip(named, self.decoded("cpu", len(named))):
            self.assertTrue(found == plain, f"{name}: {len(found)} and {len(plain)} bytes")
        if len(plain) in FEW:
            self.good(*self.words([codec], [b"".join(data for _, data in named)]))
            found = self.decoded("emu", 1)[0]
            for k, (name, _) in enumerate(named):
                self.assertEqual(found[k * len(plain):(k + 1) * len(plain)], plain, f"{name} on the emulated GPU")
            self.assertEqual(len(found), len(named) * len(plain))

    def files_decode(self, form, settings, write):
        """Files as the program writes them by each of the settings: of all texts, and of nothing with a line behind it."""
        settings = sampled(settings) or settings[-1:]
        codec = f"{form}(check: 1, chunk: {MOST})"
        for name, plain in TEXTS.items():
            with self.subTest(name):
                self.decodes(codec, [(f"{name}, {setting}", write(setting, self.file("plain", plain))) for setting in settings], plain)
        with self.subTest("nothing"):
            line, nothing = self.file("line", TEXTS["a line"]), self.file("nothing", b"")
            empty = [write(setting, nothing) for setting in settings]
            around = [(f"nothing, {setting}", data + write(setting, line) + data) for setting, data in zip(settings, empty)]
            self.decodes(codec, around, TEXTS["a line"])
            for data in set(empty):
                self.bad(1, *self.words([codec], [data]), says="the file decodes to no bytes")

    def streams_decode(self, codec, streams):
        """Streams, which need a list, as the chunks of a column; those with few bytes on the emulated GPU, too."""
        for few in (True, False):
            some = [(data, plain) for data, plain in streams if (len(plain) in FEW) == few]
            sizes = "".join(f"{len(data)} {len(plain)}\n" for data, plain in some)
            self.good(*self.words([codec], [b"".join(data for data, _ in some)], [sizes]))
            for device in ("cpu", "emu") if few else ("cpu",):
                self.assertTrue(self.decoded(device, 1)[0] == b"".join(plain for _, plain in some), f"{codec} on {device}")

    # ---- Deflate ----

    @of("zopfli")
    def test_zopfli(self):
        def write(iterations, path):
            return self.made("zopfli", "-c", f"--i{iterations if path.stat().st_size < 10_000 else min(iterations, 2)}", path)

        self.files_decode("gzip", (1, 30), write)

    @of("zopfli")
    def test_zopfli_streams(self):
        for form, check in (("deflate", ""), ("zlib", "check: 1, ")):
            streams = [(self.made("zopfli", "-c", f"--{form}", "--i1", self.file("plain", plain)), plain) for plain in TEXTS.values()]
            self.streams_decode(f"{form}({check}chunk: {MOST})", streams)

    @of("libdeflate-gzip")
    def test_libdeflate(self):
        self.files_decode("gzip", range(1, 13), lambda level, path: self.made("libdeflate-gzip", f"-{level}", "-k", "-c", path))

    @of(SEVEN)
    def test_7zip(self):
        def write(setting, path):
            (self.dir / "7.gz").unlink(missing_ok=True)
            self.made(SEVEN, "a", "-tgzip", *setting.split(), "-bd", "-y", self.dir / "7.gz", path)
            return (self.dir / "7.gz").read_bytes()

        self.files_decode("gzip", ("-mx=1", "-mx=5", "-mx=9", "-mx=9 -mpass=12 -mfb=258"), write)

    @of(SEVEN)
    def test_7zip_streams(self):
        """Raw Deflate, as it is inside of zip files."""
        paths = [self.file(name, plain) for name, plain in TEXTS.items()]
        streams = []
        for setting in ("-mx=1", "-mx=5", "-mx=9", "-mx=9 -mpass=12 -mfb=258"):
            path = self.dir / f"{setting}.zip"
            self.made(SEVEN, "a", "-tzip", "-mm=Deflate", *setting.split(), "-bd", "-y", path, *paths)
            packed = path.read_bytes()
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    if entry.compress_type == zipfile.ZIP_DEFLATED:
                        of_name, of_extra = struct.unpack("<HH", packed[entry.header_offset + 26:entry.header_offset + 30])
                        begin = entry.header_offset + 30 + of_name + of_extra
                        streams.append((packed[begin:begin + entry.compress_size], TEXTS[entry.filename]))
        self.assertGreater(len(streams), 12)
        self.streams_decode(f"deflate(chunk: {MOST})", streams)

    # ---- Zstandard ----

    @of("zstd")
    def test_zstd(self):
        """Levels, checksums, blocks and literals; the length of the content is absent if zstd reads standard input."""
        def write(setting, path):
            piped, *options = setting.split()
            data = self.made("zstd", "-q", *options, "-c", *([path] if piped == "file" else []), plain=path.read_bytes())
            tells = (data[4] & 4 != 0, data[4] & 0xe0 != 0)
            self.assertEqual(tells, ("--no-check" not in options, piped == "file" or path.stat().st_size == 0), setting)
            return data

        self.files_decode("zstd", ("file --fast=5", "file -1", "file -3", "file -9", "file -19", "file --ultra -22", "file -3 --no-check",
                                   "file -6 --no-compress-literals", "pipe --fast=5", "pipe -7 --no-check",
                                   "pipe -3 --target-compressed-block-size=1300"), write)

    @of("zstd")
    def test_zstd_frames(self):
        """Several frames one behind the other, some with checksums."""
        settings = ("-1", "--fast=9", "-19 --no-check", "-5")
        parts = [plain for plain in TEXTS.values() if len(plain) < MOST // 4]
        data = b"".join(self.made("zstd", "-q", *setting.split(), "-c", self.file("plain", part)) for part in parts for setting in settings)
        self.decodes(f"zstd(check: 1, chunk: {MOST})", [("frames", data)], b"".join(part * len(settings) for part in parts))

    @of("zstd")
    def test_zstd_jobs(self):
        """Parts of a frame by several threads; borders that the text decides."""
        path = self.file("plain", prose(random.Random("jobs"), 230000))
        named = [(setting, self.made("zstd", "-q", *setting.split(), "-c", path))
                 for setting in ("-1", "-1 -T2 -B512KiB", "-1 -T2 -B1MiB --rsyncable", "-6 -T2 --rsyncable")]
        self.assertGreater(path.stat().st_size, 1 << 20)  # one job of 1 MiB has no border
        self.assertEqual(len({data for _, data in named}), 4)
        self.decodes(f"zstd(check: 1, chunk: {1 << 24})", named, path.read_bytes())

    @of("zstd")
    def test_zstd_far(self):
        """Copies from farther than 8 MiB before, in a window of 128 MiB and in one as long as the content."""
        chosen = random.Random("far")
        once = chosen.randbytes(1 << 19)
        plain = once + chosen.randbytes(9 << 20) + once
        named = [("stream", self.made("zstd", "-q", "-1", "--long=27", "-c", plain=plain)),
                 ("file", self.made("zstd", "-q", "-1", "--long=27", "-c", self.file("plain", plain)))]
        self.assertEqual(named[0][1][4:6], b"\x04\x88")  # a window of 2^27
        self.assertEqual(named[1][1][4] & 0x20, 0x20)
        for _, data in named:
            self.assertLess(len(data), len(plain) - len(once) // 2)
        self.decodes(f"zstd(check: 1, chunk: {1 << 24})", named, plain)

    @of("zstd")
    def test_zstd_dictionary(self):
        chosen = random.Random("samples")
        samples = [b"".join(b"name: %s, id: %d\n" % (chosen.choice((b"ada", b"bob")), chosen.randrange(10**6)) for _ in range(9)) for _ in range(200)]
        paths = [self.file(f"sample{k}", sample) for k, sample in enumerate(samples)]
        dictionary = self.dir / "dictionary"
        self.made("zstd", "-q", "--train", *paths, "--maxdict=3000", "-o", dictionary)
        magic, number = struct.unpack("<II", dictionary.read_bytes()[:8])
        self.assertEqual(magic, 0xec30a437)
        codecs = [f"zstd(check: 1, chunk: {MOST})"]
        whole = self.made("zstd", "-q", "-c", paths[1])
        data = self.made("zstd", "-q", "-D", dictionary, "-c", paths[0])
        needs = f"a frame needs the dictionary {number}"
        self.bad(1, *self.words(codecs, [data]), says=("ZF1510", needs, "zstd_split_dictionary", "c0.packed, byte"))
        self.bad(1, *self.words(codecs, [whole + data]), says=needs)
        self.bad(1, *self.words(codecs, [data], [f"{len(data)} {len(samples[0])}\n"]), says=("ZF13", "chunk 0"))
        data = self.made("zstd", "-q", "--no-dictID", "-D", dictionary, "-c", paths[0])  # what is missing shows when it is needed
        self.bad(1, *self.words(codecs, [data]), says="c0.packed")
        self.assertFalse((self.dir / "t.zfd").exists())
        self.decodes(codecs[0], [("no dictionary", whole)], samples[1])
        # With it: frames that tell how much they make, one that does not, for it came through a pipe, and one without its number.
        frames = [self.made("zstd", "-q", "-D", dictionary, "-c", path) for path in paths[:5]]
        frames += [self.made("zstd", "-q", "-D", dictionary, "-c", plain=samples[5]), data]
        apart = [f"zstd_split_dictionary(chunk: {MOST}, steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes))"]
        self.good(*self.words(apart, [b"".join(frames)]), "--dictionary", f"c0={dictionary}")
        for device in ("cpu", "emu"):
            self.assertEqual(self.decoded(device, 1)[0], b"".join(samples[:6]) + samples[0], device)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
