"""The library's log goes to the logger "zipflow": lines wait in a queue, and no thread of the library waits for the GIL."""

import logging
import os
import subprocess
import sys

import pyarrow as pa
import pytest

import zipflow as zf
from zipflow import _home, _runtime

TABLE = pa.table({"x": pa.array(range(1000), pa.int64())})


@pytest.fixture
def heard(caplog):
    """Lines that the logger gets."""
    caplog.set_level(logging.DEBUG, "zipflow")
    return lambda: [(record.levelno, record.getMessage()) for record in caplog.records if record.name == "zipflow"]


@pytest.fixture
def path(tmp_path):
    zf.write_table(TABLE, tmp_path / "t.zfd", {"x": "plain"})
    return tmp_path / "t.zfd"


def test_lines(path, heard, caplog):
    zf.open(path)
    assert (logging.DEBUG, f"opened {path}: 1000 rows, 1 columns") in heard()
    caplog.clear()
    logging.getLogger("zipflow").setLevel(logging.INFO)
    zf.open(path).read()
    _runtime.open(_home.home(), bytes(path), b"", 0, False)
    logging.getLogger("zipflow").setLevel(logging.DEBUG)
    zf.open(path)
    assert len(heard()) == 1  # a line of a lower level was not kept, either
    caplog.clear()
    with pytest.raises(zf.InputError):
        zf.open(path.with_name("x.zfd").write_bytes(b"none") and path.with_name("x.zfd"))
    zf.open(path)
    assert len(heard()) == 1


def test_a_line_of_the_encoder(tmp_path, heard):
    """From threads of the library, while the caller waits: an alternative that a column refuses."""
    zf.write_table(pa.table({"x": pa.array([0.1] * 100 + [float("nan")])}), tmp_path / "t.zfd", {"x": "float2int(bitpack) | plain"}, threads=4)
    assert any(level >= logging.INFO and "another alternative is taken" in line and "x" in line for level, line in heard())


def test_more_lines_than_wait(path, heard, caplog):
    """1,024 lines wait; later ones are counted. Then there is room again."""
    owner = _home.home()
    container = zf.open(path)._opened()[0]
    caplog.clear()
    for _ in range(1100):
        _runtime.open(owner, bytes(path), b"", 0, False)
    assert not heard()
    zf.open(path)
    lines = heard()
    assert sum("opened" in line for _, line in lines) in (1024, 1025) and (logging.WARNING, f"{1100 - 1024} lines of the log were dropped") in lines
    caplog.clear()
    zf.open(path)
    assert len(heard()) == 1 and container is not None


def run(program, *arguments):
    """Runs a program without a place for compiled code, of which the library warns."""
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "ZIPFLOW_CACHE_DIR": "/dev/null/none"})


def test_without_logging(path):
    """Who does not import logging pays nothing; who does, and configures nothing, hears nothing."""
    out = run("import sys; import zipflow as zf; zf.open(sys.argv[1]).read(); assert 'logging' not in sys.modules", path)
    assert out.returncode == 0 and out.stderr == "", out.stderr
    out = run("import logging, sys; import zipflow as zf; zf.open(sys.argv[1]).read()", path)
    assert out.returncode == 0 and out.stderr == "", out.stderr
    out = run("import logging, sys; logging.basicConfig(); import zipflow as zf; zf.open(sys.argv[1]).read()", path)
    assert out.returncode == 0 and "WARNING:zipflow:the cache /dev/null/none" in out.stderr, out.stderr


def test_a_read_that_has_begun(path, heard, caplog):
    """Lines that come while a read goes on are heard when its result is there."""
    pending = zf.open(path).read_async()
    caplog.clear()
    _runtime.open(_home.home(), bytes(path), b"", 0, False)
    assert not any("opened" in line for _, line in heard())
    assert len(pending.result()) == 1000 and sum("opened" in line for _, line in heard()) == 1


def test_a_handler_that_reads(path, heard):
    """No lock of the library or of the package is held while a handler runs."""
    rows = []

    class Reads(logging.Handler):
        def emit(self, record):
            if not rows:
                rows.append(0)
                rows.append(len(zf.open(path).read()))

    handler, logger = Reads(), logging.getLogger("zipflow")
    logger.addHandler(handler)
    try:
        zf.open(path)
    finally:
        logger.removeHandler(handler)
    assert rows == [0, 1000] and sum("opened" in line for _, line in heard()) == 2


def test_a_fork(path, heard, caplog):
    """A child has a log of its own, and none of its parent's lines."""
    zf.open(path)
    caplog.clear()
    child = os.fork()
    if child == 0:
        good = False
        try:
            zf.open(path)
            good = len(heard()) == 1
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and not heard()
