"""The kernels of queries through ptxas for 9.0, and those of large thread blocks also for 8.0: it must assemble them, within the
limit of static shared memory, and with few bytes of spills. A library that stands for the driver takes the code, and runs nothing:
results are not looked at.

Usage: ptxas_queries.py ZFC FAKE_GPU

ptxas is $PTXAS, or the one in PATH, or in /usr/local/cuda/bin. Exit status 77 when there is none.
"""

import array
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ZFC, FAKE_GPU = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
SHARED_MOST = 48 * 1024
SPILLS_MOST = 256  # bytes of stores a thread: what holds for a tile, and is seldom read
ROWS = 130000  # twice the bytes of the inputs of `wide`, and more
PROGRAM = """
table t {
    a: i32 = bitpack;
    b: u8 = dictionary(bitpack);
    c: i64 = delta(bitpack);
    d: f64 = plain;
    s: string = dictionary(bitpack, strings(bitpack));
    u: string = strings(bitpack);
}
query scan(t) { result n: i64 = sum; each { if a > 3 && b < 9 { n += a * b; } } }
query look(t) {
    input bits: bool[];
    input bytes: u8[];
    result n: i64[7, 40] = sum;
    result least: i64[9] = min;
    each { if bits[b] && bytes[b] < 9 && bits[a & 7] { n[a & 3, b & 7] += a; least[b & 7] = min(least[b & 7], c); } }
}
query wide(t) {
    input many: bool[];
    input bytes: u8[];
    result n: i64[7, 40] = sum;
    result least: i64 = min;
    each { if many[a * 97 & 262143] && bytes[b] < 9 && many[c & 262143] { n[a & 3, b & 7] += a; least = min(least, c); } }
}
query texts(t) {
    input bytes: u8[];
    result n: i64[7] = sum;
    each { if contains(s, "red") && bytes[b] < 9 && u != "blue" && ends(s, "x") { n[a & 3] += 1; } }
}
query entries(t) {
    result n: i64 = sum;
    each { if s == "red x" && a > 3 { n += a; } }
}
query wide_texts(t) {
    input many: bool[];
    result n: i64 = sum;
    each { if starts(s, "red") && many[a * 97 & 262143] && u != "b" && many[c & 262143] { n += c; } }
}
query order(t) {
    result total: f64[5] = sum;
    result id: i64 = select;
    each { total[a & 3] += d; if b == 3 { select id = row; } }
}
query large(t) { result n: i64[4000] = sum; result hit: bool = mask; result first: i64[300] = set; each { hit = a < b; n[a & 1023] += 1; if a == 5 { first[b] = c; } } }
query pairs_of(pairs) {
    input bytes: u8[];
    result near: i64[200, 200] = sum;
    result least: f64[200] = min;
    result x: i64 = select;
    each a in 0..200, b in a..200 {
        let s = sum(k in 0..bytes[a]: bytes[(a * k + b) & 255] / (1 + bytes[k]));
        near[a, b] += s;
        least[a] = min(least[a], s as f64);
        if s > 9 { select x = a * 200 + b; }
    }
}
query squares_of(pairs) {
    input bytes: u8[];
    result near: i64[200, 200] = sum;
    each a in 0..200, b in a..200 { near[a, b] += sum(k in 0..max(bytes[a], bytes[b]): popcount((bytes[a + k] & bytes[b + k % bytes[b]]) as u64) as i64); }
}
query wide_squares_of(pairs) {
    input words: u64[];
    input bytes: f64[];
    result x: i64 = select;
    each a in 0..200, b in 0..200 {
        let s = sum(k in 0..=a: (words[a + k] ^ words[b + k % 5]) as i64 * (bytes[a * 3 + k] < bytes[b + k] ? a : b));
        if s > 9 { select x = s; }
    }
}
"""
LARGE = ("wide", "wide_texts")
ASKED = {"scan": 10, "entries": 18}  # sums ask, and eight rows for the bits of their entries
TIED = {"wide": 6}  # pulls, terms with look-ups, and what the body gives
QUERIES = {"scan": 1, "entries": 1, "look": 1, "wide": 1, "texts": 1, "wide_texts": 1, "order": 2, "large": 1, "pairs_of": 2, "squares_of": 2, "wide_squares_of": 3}  # and their kernels
PAIRS = ("pairs_of", "squares_of", "wide_squares_of")


def find_ptxas():
    for path in (os.environ.get("PTXAS"), shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas"):
        if path and os.access(path, os.X_OK):
            return path
    print("there is no ptxas")
    sys.exit(77)


def table(folder):
    for name, code, of in (("a", "i", lambda i: i * 7919 % 4001), ("b", "B", lambda i: i % 40), ("c", "q", lambda i: 3 * i), ("d", "d", lambda i: i / 8)):
        (folder / name).write_bytes(array.array(code, map(of, range(ROWS))).tobytes())
    texts = [("a red box", "blue", "red x", "")[i * 7 % 4] for i in range(ROWS)]
    ends = array.array("q", [0, *itertools.accumulate(map(len, texts))])
    for name in "su":
        (folder / f"{name}.bytes").write_text("".join(texts))
        (folder / f"{name}.offsets").write_bytes(ends.tobytes())
    (folder / "bits").write_bytes(b"\xaa" * 32)  # all of one value would exclude all rows
    (folder / "many").write_bytes(b"\xaa" * 60000)
    (folder / "bytes").write_bytes(bytes(range(256)))
    (folder / "t.zf").write_text(PROGRAM)
    command = [ZFC, "encode", "-q", "-c", "t.zf", "-o", "t.zfd", *(f"{name}={name}" for name in "abcd"), *(f"{name}.{part}={name}.{part}" for name in "su" for part in ("offsets", "bytes"))]
    subprocess.run(list(map(str, command)), cwd=folder, check=True)


def ties(code):
    """In how many places values of rows from a queue depend on each other, by a zero of which ptxas does not know."""
    zeros = re.findall(rb"mov\.u32 (%r\d+), %dynamic_smem_size;[^;]*?shr\.u32 \t(%r\d+), \1, 20;", code)
    return sum(len(re.findall(rb"\tand\.b32 [^;]*" + zero + rb"\b[^;]*;", code)) for _, zero in zeros)


def code_of(folder, query, arch):
    """The PTX of a query: that of the code in a cache of its own which is not a column's, as the columns' was there before."""
    cache = folder / f"{query}-{arch}"
    environment = dict(os.environ, ZIPFLOW_CUDA_LIBRARY=str(FAKE_GPU), ZIPFLOW_CACHE_DIR=str(cache), ZF_FAKE_MULTIPROCESSORS="1", ZF_FAKE_CAPABILITY=str(arch))
    words = [ZFC, "query", f"t.zf:{query}", *([] if query in PAIRS else ["t.zfd"]), "--device", "cuda", "--json", "--no-results"]
    if query == "look":
        words += ["--input", "bits=bits"]
    if query in LARGE:
        words += ["--input", "many=many"]
    if query in ("look", "wide", "texts", *PAIRS):
        words += ["--input", "bytes=bytes"]
    if query == "wide_squares_of":
        words += ["--input", "words=bytes"]
    done = subprocess.run(list(map(str, words)), cwd=folder, env=environment, capture_output=True, text=True)
    if "ZF08" in done.stderr or "ZF19" in done.stderr and "CPU does not find" not in done.stderr:
        raise AssertionError(f"{query}: {done.stderr}")
    if query in LARGE and '"warps": 28' not in done.stdout:
        raise AssertionError(f"{query}: no large thread blocks: {done.stderr or done.stdout}")
    found = []
    for file in cache.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        begin = data.find(b".version")
        form = b".maxntid 896" if query in LARGE else b".maxnreg 80" if query == "texts" else b""  # decoders of strings are long
        if begin >= 0 and data.count(b".entry zf_kernel_") == QUERIES[query] and form in data:
            found.append(data[begin : data.rindex(b"}") + 1])
    if not found:
        raise AssertionError(f"{query}: no code was made: {done.stderr}")
    code = max(found, key=len)  # kernels of columns are far shorter
    if query == "scan" and b"// begin inline asm\n\t// end inline asm" not in code:
        raise AssertionError(f"{query}: what a row gives is not held before the branch")
    if query in TIED and ties(code) != TIED[query]:
        raise AssertionError(f"{query}: rows from a queue are tied in {ties(code)} places, not {TIED[query]}")
    if query in ASKED and code.count(b"shfl.sync.idx") != ASKED[query]:
        raise AssertionError(f"{query}: values are asked of a lane in {code.count(b'shfl.sync.idx')} places, not {ASKED[query]}")
    return code


def main():
    ptxas = find_ptxas()
    faults = 0
    with tempfile.TemporaryDirectory(prefix="zf-ptxas-") as name:
        folder = pathlib.Path(name)
        table(folder)
        for query, arch in [(query, 90) for query in QUERIES] + [("wide", 80)]:
            kernels = QUERIES[query]
            (folder / f"{query}.ptx").write_bytes(code_of(folder, query, arch))
            done = subprocess.run([ptxas, f"-arch=sm_{arch}", "-v", f"{query}.ptx", "-o", f"{query}.cubin"], cwd=folder, capture_output=True, text=True)
            said = done.stdout + done.stderr
            spills = [int(n) for n in re.findall(r"(\d+) bytes spill stores", said)]
            shared = [int(n) for n in re.findall(r"(\d+) bytes smem", said)]
            good = done.returncode == 0 and len(spills) == kernels and max(spills) <= SPILLS_MOST and max([0, *shared]) <= SHARED_MOST
            faults += not good
            print(f"{query}, {arch}: {'good' if good else 'FAULT'}, spills {spills}, shared {shared}{'' if done.returncode == 0 else said[-2000:]}")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
