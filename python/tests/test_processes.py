"""Threads, forks, pickles, and what is left behind."""

import concurrent.futures
import contextlib
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import tracemalloc

import conftest
import pyarrow as pa
import pytest

import zipflow as zf


def test_two_readers_at_once(file, mixed):
    f = zf.open(file)
    source = open(file, "rb")
    g = zf.open(source)
    wanted = {name: mixed.select([name]) for name in mixed.column_names}

    def read(number):
        name = mixed.column_names[number % 4]
        begin = number * 137 % 9000
        from_file = f if number % 3 else g
        return pa.table(from_file.read([name], slice(begin, begin + 999))).equals(wanted[name].slice(begin, 999))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(60)))


def test_writers_at_once(tmp_path, mixed):
    def write(number):
        zf.write_table(mixed, tmp_path / f"{number}.zfd", {"number": "bitpack", "text": "strings"})
        return (tmp_path / f"{number}.zfd").read_bytes()

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert len(set(pool.map(write, range(5)))) == 1  # the same rows give the same file


def test_close_while_others_read(file, mixed):
    """A read that has begun ends well, later ones raise."""
    f = zf.open(file)
    f.read(["number"])
    results = []

    def read():
        try:
            while True:
                results.append(pa.table(f.read(["number"])).equals(mixed.select(["number"])))
        except ValueError as error:
            results.append(str(error) == "the file is closed")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [pool.submit(read) for _ in range(2)]
        while len(results) < 10:
            pass
        f.close()
        [one.result() for one in running]
    assert all(results)


def test_close_during_a_read(file):
    """The file is closed when the read that has begun ends, and not before."""
    import io
    import threading
    import weakref

    inside, go_on = threading.Event(), threading.Event()

    class Waiting(io.BytesIO):
        waits = False

        def read(self, *count):
            if self.waits:
                inside.set()
                assert go_on.wait(30)
            return super().read(*count)

    source = Waiting(file.read_bytes())
    gone = weakref.ref(source)
    f = zf.open(source)
    source.waits = True
    container = f._container
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(f.read, ["number"])
        assert inside.wait(30)
        f.close()
        go_on.set()
        with contextlib.suppress(ValueError):  # between two of its calls the read may find the file closed
            running.result()
    f._source = source = None
    del running, pool
    gc.collect()
    assert gone() is None and container is not None  # closed: the container holds the file object no more


def test_the_gil_is_released(file):
    """While a file object serves one reader from its Python code, another thread of Python goes on: no call holds the GIL."""
    import io
    import threading

    inside, go_on = threading.Event(), threading.Event()

    class Waiting(io.BytesIO):
        waits = False

        def read(self, *count):
            if self.waits:
                inside.set()
                assert go_on.wait(30)
            return super().read(*count)

    source = Waiting(file.read_bytes())
    f = zf.open(source)
    source.waits = True
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(f.read, ["number"])
        assert inside.wait(30)
        assert len(zf.open(file).read(["number"])) == conftest.ROWS  # of another file, at the same time
        go_on.set()
        assert len(running.result()) == conftest.ROWS


def in_child(function):
    """Runs a function in a forked child; true if it returned true."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() else 1)
        except BaseException:  # noqa: BLE001
            import traceback

            traceback.print_exc()
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork(file, mixed, tmp_path):
    """A child opens files of its parent anew, and writes; a table that the parent read is its own, too."""
    f, g, memory = zf.open(file), zf.open(open(file, "rb")), zf.open(file.read_bytes())
    table = f.read()
    program = zf.Program("table t { a: i64 = plain; }")
    assert in_child(lambda: pa.table(f.read()).equals(mixed) and pa.table(memory.read()).equals(mixed))
    assert in_child(lambda: pa.table(table).equals(mixed))
    assert in_child(lambda: list(program.columns) == ["a"] and zf.write_table(mixed, tmp_path / "c.zfd") and True)

    def file_object():
        with pytest.raises(RuntimeError, match="before a fork"):
            g.read()
        return True

    assert in_child(file_object)
    assert pa.table(f.read()).equals(mixed) and pa.table(zf.open(tmp_path / "c.zfd").read()).equals(mixed)


def read_part(file, begin):
    return pa.table(file.read(["number"], slice(begin, begin + 10))).to_pydict()


def test_workers(file, mixed):
    """A file goes to a process that was spawned."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:  # it raises where a child ends
        assert pool.submit(read_part, zf.open(file), 500).result(120) == mixed.select(["number"]).slice(500, 10).to_pydict()


def test_pickle(file, mixed, tmp_path):
    for source in (file, str(file), file.read_bytes()):
        assert pa.table(pickle.loads(pickle.dumps(zf.open(source))).read()).equals(mixed)
    with pytest.raises(TypeError):
        pickle.dumps(zf.open(open(file, "rb")))
    data = pickle.dumps(zf.open(file))
    zf.write_table(mixed.slice(1), file)
    with pytest.raises(zf.InputError, match="another one"):
        pickle.loads(data)


def test_a_thousand_opens(file):
    """Neither files, nor memory of Python or of the library, nor objects are left."""
    data = file.read_bytes()

    def once():
        with zf.open(file) as f:
            f.schema, f.explain("text"), repr(f)
        zf.open(data).close()
        zf.open(data)  # without a close
        with pytest.raises(ValueError):
            zf.open(data[:-1])

    def used():
        gc.collect()
        with open("/proc/self/statm") as statm:
            return len(os.listdir("/proc/self/fd")), int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(100):
        once()
    descriptors, resident = used()
    tracemalloc.start(1)
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        once()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000
    more_descriptors, more_resident = used()
    assert more_descriptors == descriptors and more_resident - resident < 8_000_000  # 3,000 indices of this file are more


def test_reads_leave_nothing(file):
    from zipflow import _runtime

    f = zf.open(file)
    before = _runtime.storages()
    for _ in range(50):
        pa.table(f.read(["number", "text"])).slice(5)
        with pytest.raises(KeyError):
            f.read(["none"])
    gc.collect()
    assert _runtime.storages() == before


def test_cycles(file):
    """A file object that holds its own File is collected."""
    import io
    import weakref

    class Own(io.BytesIO):
        pass

    source = Own(file.read_bytes())
    source.file = zf.open(source)
    gone = weakref.ref(source)
    del source
    gc.collect()
    assert gone() is None


def test_exit_with_everything_alive(file, tmp_path):
    """The interpreter ends while files, tables, capsules and a program are alive."""
    program = f"""
import zipflow as zf, threading
f = zf.open({str(file)!r}); t = f.read(); kept = [t.__arrow_c_stream__(), t["number"].__dlpack__()]
p = zf.Program("table t {{ a: i64 = plain; }}")
import builtins; builtins.kept = (f, t, kept, p)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
