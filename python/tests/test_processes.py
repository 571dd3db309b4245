"""Threads, forks, pickles, and what is left behind."""

import concurrent.futures
import contextlib
import copy
import gc
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
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


INTERRUPTED = """
import os, random, signal, sys, threading, time
import pyarrow as pa
import zipflow as zf

numbers = random.Random(1).randbytes(8 << 20)
table = pa.table({f"c{k}": pa.Array.from_buffers(pa.int64(), 1 << 20, [None, pa.py_buffer(numbers)]) for k in range(6)})

def seconds():
    begin = time.monotonic()
    zf.write_table(BATCH(table), sys.argv[1], rows_per_block=32768, threads=1)
    return time.monotonic() - begin

handed = threading.Event()

def batches():
    yield from table.to_batches()
    print("all was encoded")

def one_batch(table):
    handed.set()
    return pa.RecordBatchReader.from_batches(table.schema, batches())

BATCH = lambda table: table
whole = seconds()
os.unlink(sys.argv[1])
BATCH = one_batch
threading.Thread(target=lambda: (handed.wait(), time.sleep(whole / 10), os.kill(os.getpid(), signal.SIGINT))).start()
begin = time.monotonic()
try:
    seconds()
except KeyboardInterrupt:
    taken = time.monotonic() - begin
    print("interrupted", len(os.listdir(os.path.dirname(sys.argv[1]))), taken < whole / 2, taken, whole)
"""


def test_interrupt_of_a_write(tmp_path):
    """Ctrl-C ends the encoding of a batch at its next block, and nothing is left."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, str(tmp_path / "t.zfd")], capture_output=True, text=True, timeout=250)
    assert done.stdout.startswith("interrupted 0 True"), (done.stdout, done.stderr)


INTERRUPTED_CODE = """
import _thread, collections, functools, operator, os, sys
import zipflow as zf
import zipflow._file

class Interrupting:
    \"\"\"A container, whose `obtain` begins with an interrupt that came before: no code of Python runs between the two.\"\"\"

    def __init__(self, of):
        self._of = of

    def __getattr__(self, name):
        return getattr(self._of, name)

    def obtain(self, *arguments):
        collections.deque(map(operator.call, [_thread.interrupt_main, functools.partial(self._of.obtain, *arguments)]), 0)

def codes():
    return sum(len(files) for _, _, files in os.walk(os.environ["ZIPFLOW_CACHE_DIR"]))

f = zf.open(sys.argv[1])
opened = zipflow._file.File._opened
zipflow._file.File._opened = lambda self: (Interrupting(opened(self)[0]), opened(self)[1])
try:
    f.read(threads=int(sys.argv[2]))
except KeyboardInterrupt:
    interrupted = codes()
    zipflow._file.File._opened = opened
    assert len(f.read(threads=int(sys.argv[2]))) == 5000
    print("interrupted", interrupted, codes())
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="operator.call")
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt_while_code_is_got(tmp_path, threads):
    """Ctrl-C ends the wait for the code of many columns at the next one, and a later read gets it."""
    columns = {f"c{k}": [n % (2 << k) for n in range(5000)] for k in range(12)}
    zf.write_table(pa.table(columns), tmp_path / "t.zfd", {name: "bitpack" for name in columns})
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_CODE, str(tmp_path / "t.zfd"), str(threads)], capture_output=True, text=True,
                          timeout=250, env={**os.environ, "ZIPFLOW_CACHE_DIR": str(tmp_path / "cache")})
    assert done.stdout.startswith("interrupted"), (done.stdout, done.stderr)
    before, after = map(int, done.stdout.split()[1:])
    assert before <= threads < after, (before, after)


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


class Waiting(io.BytesIO):
    """A file object whose reads say that they have begun and wait, once `waits` is set."""

    def __init__(self, data):
        super().__init__(data)
        self.waits, self.inside, self.go_on = False, threading.Event(), threading.Event()

    def read(self, *count):
        if self.waits:
            self.inside.set()
            assert self.go_on.wait(30)
        return super().read(*count)


def test_close_during_a_read(file):
    """The file is closed when the read that has begun ends, and not before."""
    import weakref

    source = Waiting(file.read_bytes())
    inside, go_on = source.inside, source.go_on
    gone = weakref.ref(source)
    f = zf.open(source)
    source.waits = True
    container = f._open_in[0]
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
    source = Waiting(file.read_bytes())
    inside, go_on = source.inside, source.go_on
    f = zf.open(source)
    source.waits = True
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(f.read, ["number"])
        assert inside.wait(30)
        assert len(zf.open(file).read(["number"])) == conftest.ROWS  # of another file, at the same time
        go_on.set()
        assert len(running.result()) == conftest.ROWS


class Scripted:
    """A file object: reads of the threads in `raises` raise; `reads` has the thread of every call."""

    def __init__(self, data):
        self.data, self.at, self.reads, self.raises = data, 0, [], {}

    def seek(self, offset, whence=0):
        self.at = offset if whence == 0 else len(self.data) + offset
        return self.at

    def read(self, count):
        me = threading.get_ident()
        self.reads.append(me)
        if me in self.raises:
            raise self.raises[me]
        return self.data[self.at:self.at + count]


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_exceptions_go_to_whose_read_they_end(file, mixed, kind):
    """Two threads read through one file object, which fails in one of them: that one alone has the exception."""
    source = Scripted(file.read_bytes())
    f = zf.open(source)
    f.read(["number"])
    inside = threading.Barrier(2)
    results = {}

    def read(name, fails):
        me = threading.get_ident()
        if fails:
            source.raises[me] = kind("in " + name)
        inside.wait(30)
        out = []
        for _ in range(20):
            before = len(source.reads)
            try:
                out.append(pa.table(f.read(["number"])).equals(mixed.select(["number"])))
            except BaseException as error:  # noqa: BLE001
                out.append(error)
            assert me in source.reads[before:]
        results[name] = out

    threads = [threading.Thread(target=read, args=("good", False)), threading.Thread(target=read, args=("bad", True))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results["good"] == [True] * 20
    for error in results["bad"]:
        if kind is KeyboardInterrupt:
            assert type(error) is kind and str(error) == "in bad"
        else:
            assert type(error) is zf.FileError and type(error.__cause__) is kind and str(error.__cause__) == "in bad"


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


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_two_threads_in_a_child(file, mixed, monkeypatch):
    """One thread of a child opens the file anew while another one is between its looks at it."""
    from zipflow import _home

    f, real = zf.open(file), _home.home

    def child():
        waiting = [True]

        def home():
            if waiting:
                waiting.clear()
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    assert pool.submit(f.sizes).result(60)
            return real()

        monkeypatch.setattr(_home, "home", home)
        return pa.table(f.read()).equals(mixed) and not waiting

    assert in_child(child)


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


def another_one(read):
    try:
        read()
    except zf.InputError as error:
        return "another one than when it was opened" in str(error)
    return False


def test_a_file_that_was_replaced(file, mixed):
    """Pickles, copies and children have the rows of the file that was opened, or an error."""
    f = zf.open(file)
    zf.write_table(mixed.slice(1), file)
    assert pa.table(f.read()).equals(mixed)
    for again in (lambda: pickle.loads(pickle.dumps(f)), lambda: copy.deepcopy(f)):
        assert another_one(again)
    assert in_child(lambda: another_one(f.read))


def test_another_working_directory(file, mixed, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    zf.write_table(mixed.slice(1), tmp_path / "other" / file.name)
    monkeypatch.chdir(file.parent)
    f = zf.open(file.name)
    monkeypatch.chdir(tmp_path / "other")
    assert pa.table(pickle.loads(pickle.dumps(f)).read()).equals(mixed)
    assert in_child(lambda: pa.table(f.read()).equals(mixed))


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


def test_programs_are_kept(tmp_path, monkeypatch):
    from zipflow import _write

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_write, "_programs", {})
    table = pa.table({"x": list(range(5000))})
    sizes = zf.write_table(table, "a.zfd")
    kept = list(_write._programs.values())
    assert zf.write_table(table, "b.zfd") == sizes and list(_write._programs.values()) == kept and len(kept) == 1
    assert (tmp_path / "a.zfd").read_bytes() == (tmp_path / "b.zfd").read_bytes()
    for k in range(6):
        zf.write_table(table.rename_columns([f"x{k}"]), "c.zfd")
    assert len(_write._programs) == 4 and kept[0] not in _write._programs.values()
    # A library of one's own may change, so its programs are read each time.
    zf.write_table(table, "a.zfd")
    plain = "codec default_i64: i64 = plain; codec default_i64_or_null: i64? = nullable(values: plain);"
    (tmp_path / "defaults.zf").write_text(f'import "std.zf"; {plain}')
    assert zf.write_table(table, "d.zfd")["x"][1] > sizes["x"][1]
    (tmp_path / "defaults.zf").unlink()
    assert zf.write_table(table, "d.zfd") == sizes


def test_kept_programs_of_threads(tmp_path, monkeypatch):
    """A thread that drops the oldest program is stopped in the middle until others have come as far as they can."""
    from zipflow import _write

    inside, another, passed = threading.Event(), threading.Event(), threading.Event()

    class Programs(dict):
        def __setitem__(self, text, program):
            dict.__setitem__(self, text, program)
            if inside.is_set() and not passed.is_set():
                another.set()
                passed.wait(60)

        def __iter__(self):
            found = dict.__iter__(self)
            if not inside.is_set():
                inside.set()
                another.wait(0.5)  # in vain where a lock keeps the others out
            try:
                yield next(found)
            finally:
                passed.set()

    class Made:
        def __new__(cls, text, name):
            return made[text]

    def write(name):
        return zf.write_table(table.rename_columns([name]), f"{name}.zfd")

    monkeypatch.chdir(tmp_path)
    table, made = pa.table({"x": [1, 2, 3]}), {}
    monkeypatch.setattr(_write, "_programs", made)
    monkeypatch.setattr(_write, "_PROGRAMS_MOST", 6)
    for name in "abcdef":
        write(name)
    monkeypatch.setattr(_write, "Program", Made)  # others are there at once
    monkeypatch.setattr(_write, "_programs", Programs())
    monkeypatch.setattr(_write, "_PROGRAMS_MOST", 2)
    write("a")
    write("b")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        first = pool.submit(write, "c")
        assert inside.wait(60)
        others = [pool.submit(write, name) for name in "def"]
        assert [len(done.result()) for done in [first, *others]] == [1] * 4
    assert len(_write._programs) == 2 and len(made) == 6
    for name in "abcdef":
        assert pa.table(zf.open(f"{name}.zfd").read())[name].to_pylist() == [1, 2, 3]


def test_fork_while_programs_are_locked(tmp_path):
    """A forked child has a lock of its own."""
    program = f"""
import os, sys
import pyarrow as pa
import zipflow as zf
from zipflow import _write
path = {str(tmp_path / "t.zfd")!r}
with _write._lock:
    child = os.fork()
    if child == 0:
        import faulthandler
        faulthandler.dump_traceback_later(30, exit=True)
        zf.write_table(pa.table({{"x": [1]}}), path)
        os._exit(0)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    assert pa.table(zf.open(tmp_path / "t.zfd").read())["x"].to_pylist() == [1]
