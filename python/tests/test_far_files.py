"""Files behind a web server, through fsspec: which requests are made, and how many bytes."""

import http.server
import re
import threading

import pyarrow as pa
import pytest
from conftest import plain

import zipflow as zf

fsspec = pytest.importorskip("fsspec", reason="script/bootstrap installs it")
pytest.importorskip("aiohttp", reason="script/bootstrap installs it")
COLUMNS, ROWS = 16, 50_000


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves ranges of one file. `requests`: (method, first byte, bytes) of each."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, body):
        data = self.server.data
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        begin, end = (int(found[1]), min(int(found[2]) + 1, len(data))) if found else (0, len(data))
        self.server.requests.append((self.command, begin, end - begin))
        status = self.server.status.pop() if self.server.status else 206 if found else 200
        part = data[begin:end] if status < 300 else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Accept-Ranges", "bytes")
        if found:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")
        self.end_headers()
        if body:
            self.wfile.write(part)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def table():
    return pa.table({f"column {k}": pa.array([None if j % 97 == k else (j * 7919 + k) % 100_003 for j in range(ROWS)], pa.int32() if k % 2 else pa.int64()) for k in range(COLUMNS - 1)} |
                    {"text": pa.array([f"a word {j % 1009}" for j in range(ROWS)])})


@pytest.fixture
def server(table, tmp_path):
    zf.write_table(table, tmp_path / "t.zfd", plain(table.schema), rows_per_block=20_000)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.data, server.requests, server.status = (tmp_path / "t.zfd").read_bytes(), [], []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def far(server):
    """The file object of fsspec, which asks for its size."""
    return fsspec.filesystem("http", skip_instance_cache=True, use_listings_cache=False).open(f"http://127.0.0.1:{server.server_port}/t.zfd")


def bytes_of(server):
    return sum(size for method, _, size in server.requests if method == "GET")


def test_requests(server, table):
    source = far(server)
    server.requests.clear()
    f = zf.open(source)
    assert len(server.requests) <= 2 and bytes_of(server) <= 2 * 65_536 and f.schema.names == table.column_names
    server.requests.clear()
    wanted = ["column 3", "text"]
    assert pa.table(f.read(wanted)).equals(table.select(wanted))
    stored = sum(f.schema[name].stored_bytes for name in wanted)
    assert 0.9 * stored < bytes_of(server) <= 1.1 * stored and stored < len(server.data) / 5
    assert len(server.requests) <= sum(f.schema[name].blocks for name in wanted)
    server.requests.clear()
    assert pa.table(f.read(["column 4"], slice(19_000, 19_500))).equals(table.select(["column 4"]).slice(19_000, 500))
    assert bytes_of(server) <= 1.1 * f.schema["column 4"].stored_bytes / 2  # one of three blocks
    server.requests.clear()
    assert pa.table(f).equals(table) and bytes_of(server) <= 1.1 * len(server.data)


class Asked:
    """A file object that keeps what it was asked for. `short`: it returns fewer bytes than that."""

    def __init__(self, data, short=False):
        self.data, self.short, self.at, self.reads = data, short, 0, []

    def seek(self, offset, whence=0):
        self.at = offset if whence == 0 else len(self.data) + offset
        return self.at

    def read(self, size):
        self.reads.append((self.at, size))
        return self.data[self.at:self.at + (min(size, 3000) if self.short else size)]


def test_blocks_side_by_side(table, tmp_path):
    """Blocks that lie side by side are read at once, up to 8 MiB, each byte once."""
    table = table.append_column("words", pa.array([["w"] * (k % 5) for k in range(ROWS)]))
    zf.write_table(table, tmp_path / "t.zfd", plain(table.schema), rows_per_block=1000)
    data = (tmp_path / "t.zfd").read_bytes()
    for short in (False, True):
        source = Asked(data, short)
        with zf.open(source) as f:
            for names, rows in ((["column 3"], slice(0, ROWS)), (["text"], slice(10_500, 40_000)), (["words"], slice(3, 49_000))):
                source.reads.clear()
                assert pa.table(f.read(names, rows, threads=2)).equals(table.select(names).slice(rows.start, rows.stop - rows.start))
                if not short:
                    assert f.schema[names[0]].blocks == 50 and len(source.reads) <= 8, source.reads
                    assert sum(size for _, size in source.reads) <= 1.1 * f.schema[names[0]].stored_bytes
            source.reads.clear()
            f.read(["column 3"], slice(2500, 2600))
            assert short or len(source.reads) == 1 and source.reads[0][1] < f.schema["column 3"].stored_bytes / 25  # a block alone
    wide = pa.table({"n": pa.array(range(3_000_000), pa.int64())})
    zf.write_table(wide, tmp_path / "w.zfd", {"n": "plain"}, rows_per_block=100_000)
    source = Asked((tmp_path / "w.zfd").read_bytes())
    with zf.open(source) as f:
        source.reads.clear()
        assert pa.table(f.read()).equals(wide) and max(size for _, size in source.reads) <= 8 << 20
        assert len(source.reads) == 3 and sum(size for _, size in source.reads) <= 1.01 * f.schema["n"].stored_bytes


def test_errors(server):
    f = zf.open(far(server))
    server.status[:] = [503] * 3
    with pytest.raises(zf.FileError) as caught:
        f.read(["text"])
    assert isinstance(caught.value, OSError) and "503" in str(caught.value.__cause__)
    server.status.clear()
    assert len(f.read(["text"])) == ROWS  # the next read asks again


def test_other_file_systems(server, table, tmp_path):
    memory = fsspec.filesystem("memory")
    memory.pipe("/t.zfd", server.data)
    (tmp_path / "local.zfd").write_bytes(server.data)
    for source in (memory.open("/t.zfd"), fsspec.filesystem("file").open(str(tmp_path / "local.zfd")), fsspec.open(f"simplecache::http://127.0.0.1:{server.server_port}/t.zfd").open()):
        with source:
            assert pa.table(zf.open(source).read(["column 1", "text"])).equals(table.select(["column 1", "text"]))
