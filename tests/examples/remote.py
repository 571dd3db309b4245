"""examples/remote opens a container on a web server with at most two requests, and reads only the blocks that it needs.

Usage: remote.py ZFC REMOTE"""

import array
import http.server
import pathlib
import subprocess
import sys
import tempfile
import threading

ZFC, REMOTE = sys.argv[1], sys.argv[2]
ROWS = 300000
faults = []
answers = "ranges"  # how the server answers
ranges = []         # what was asked for


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ranges.append(self.headers.get("Range", ""))
        file = tree / self.path.lstrip("/")
        if not file.is_file() or answers == "nothing":
            self.send_error(404)
            return
        content = file.read_bytes()
        begin, end = ranges[-1].removeprefix("bytes=").split("-")
        first = max(0, len(content) - int(end)) if begin == "" else int(begin)
        last = len(content) if begin == "" else int(end) + 1
        whole = answers == "whole"
        self.send_response(200 if whole else 206)
        if not whole:
            self.send_header("Content-Range", f"bytes {first}-{last - 1}/{len(content)}")
        self.end_headers()
        body = content if whole else content[first:last]
        self.wfile.write(body[:(len(body) + 1) // 2] if answers == "half" and len(ranges) > 1 else body)

    def log_message(self, *words):
        pass


def check(holds, *words):
    if not holds:
        faults.append(" ".join(map(str, words)))


def remote(path, column, begin, count):
    ranges.clear()
    return subprocess.run([REMOTE, "127.0.0.1", str(server.server_address[1]), path, column, str(begin), str(count)], capture_output=True,
                          timeout=120, env={"ZIPFLOW_CACHE_DIR": str(tree / "cache")})


def encode(name, columns, rows, *words):
    program = "table t {\n" + "".join(f"  {c}: i64 = bitpack;\n" for c in columns) + "}\n"
    (tree / f"{name}.zf").write_text(program)
    values = array.array("q", [k * 7 % 100003 for k in range(rows)])
    (tree / f"{name}.i64").write_bytes(values.tobytes())
    subprocess.run([ZFC, "encode", "-q", "-c", tree / f"{name}.zf", "-o", tree / f"{name}.zfd", *words, *[f"{c}={tree / name}.i64" for c in columns]],
                   check=True, env={"ZIPFLOW_CACHE_DIR": str(tree / "cache")})
    return values


with tempfile.TemporaryDirectory() as directory:
    tree = pathlib.Path(directory)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    values = encode("small", ["a", "b"], ROWS, "--rows-per-block", "8192")
    encode("wide", [f"column_with_a_long_name_{k:04}" for k in range(400)], 10)
    for path, column, begin, count, opening, more in (("/small.zfd", "a", 100000, 8192, 1, 2), ("/small.zfd", "b", 0, 1, 1, 1),
                                                      ("/wide.zfd", "column_with_a_long_name_0007", 3, 5, 2, 1)):
        done = remote(path, column, begin, count)
        said = done.stderr.decode()
        wanted = values[begin:begin + count].tobytes()
        check(done.returncode == 0 and done.stdout == wanted, path, column, "has other rows:", said)
        check(f"opened: {opening} requests" in said, path, "was not opened by", opening, "requests:", said)
        check(len(ranges) <= opening + more, path, column, "took", len(ranges), "requests:", ranges)
    check((tree / "wide.zfd").stat().st_size > 131072, "the index of wide.zfd is small")
    for answers, path, says in (("whole", "/small.zfd", b"does not answer"), ("nothing", "/small.zfd", b"does not answer"),
                                ("ranges", "/none.zfd", b"does not answer"), ("half", "/small.zfd", b"")):
        done = remote(path, "a", 100000, 8192)
        if answers == "half":  # it asks again for the rest
            check(done.returncode == 0 and done.stdout == values[100000:108192].tobytes(), "half an answer:", done.stderr.decode())
        else:
            check(done.returncode != 0 and says in done.stderr, answers, path, "gave", done.returncode, done.stderr.decode())
    server.shutdown()
for text in faults:
    print(text)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
