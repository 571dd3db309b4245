"""`out=`: rows are decoded into memory of the caller, which the columns share; memory of another shape is refused before anything is written."""

import array
import gc
import mmap
import threading
import weakref

import numpy as np
import pyarrow as pa
import pytest

import zipflow as zf
from conftest import ROWS

KINDS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


class Tensor:
    """An array that has DLPack alone, of one version or the other."""

    def __init__(self, of, versioned=True, device=None):
        self._of, self._versioned, self._device = of, versioned, device

    def __dlpack_device__(self):
        return self._device or self._of.__dlpack_device__()

    def __dlpack__(self, **keywords):
        if keywords and not self._versioned:
            raise TypeError("__dlpack__ takes no max_version")
        return self._of.__dlpack__(**keywords)


@pytest.fixture(scope="module")
def table():
    r = np.random.default_rng(5)
    columns = {kind: r.integers(0, 100, ROWS).astype(kind) for kind in KINDS}
    fields = [pa.field(kind, pa.from_numpy_dtype(np.dtype(kind)), nullable=False) for kind in KINDS]
    arrays = [pa.array(columns[kind]) for kind in KINDS]
    more = {"some": pa.array([None if k % 7 == 0 else k for k in range(ROWS)], pa.int64()), "text": pa.array([f"näme {k % 19}" for k in range(ROWS)]),
            "maybe": pa.array([None if k % 3 == 0 else "x" * (k % 40) for k in range(ROWS)]), "flag": pa.array([k % 3 == 0 for k in range(ROWS)]),
            "day": pa.array(range(ROWS), pa.date32()), "at": pa.array(range(ROWS), pa.timestamp("ns", "UTC")), "time": pa.array(range(ROWS), pa.time32("s")),
            "price": pa.array(range(ROWS), pa.decimal64(15, 2)), "wide": pa.array(range(ROWS), pa.decimal128(15, 2)),
            "code": pa.array([f"c{k % 5}" for k in range(ROWS)]).dictionary_encode(), "view": pa.array([f"view {k}" for k in range(ROWS)], pa.string_view()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(r.random(ROWS * 3).astype("f4")), 3),
            "holes": pa.array([None if k % 11 == 0 else [k, k] for k in range(ROWS)], pa.list_(pa.int32(), 2)), "list": pa.array([[k] * (k % 3) for k in range(ROWS)]),
            "fixed": pa.array([b"abcd"] * ROWS, pa.binary(4)), "none": pa.nulls(ROWS)}
    for name, values in more.items():
        fields.append(pa.field(name, values.type, nullable=name in ("some", "maybe", "holes", "none")))
        arrays.append(values)
    return pa.table(arrays, schema=pa.schema(fields))


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    at = tmp_path_factory.mktemp("out") / "t.zfd"
    zf.write_table(table, at, rows_per_block=1000)
    return at


def poisoned(dtype, shape, away=0):
    """An array that begins `away` bytes behind an address that 64 divides, between bytes that stay 0xa5."""
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(shape)) * dtype.itemsize
    room = np.full(nbytes + 192, 0xA5, "u1")
    begin = -room.ctypes.data % 64 + 64 + away
    inside = room[begin:begin + nbytes].view(dtype).reshape(shape)

    def untouched():
        return bool((room[:begin] == 0xA5).all() and (room[begin + nbytes:] == 0xA5).all())

    return inside, untouched


@pytest.mark.parametrize("rows", [slice(0, ROWS), slice(0, 0), slice(999, 1001), slice(1003, 5000)])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers(path, table, kind, rows):
    count, size = rows.stop - rows.start, np.dtype(kind).itemsize
    with zf.open(path) as f:
        for away in (0, size):  # as little aligned as an element
            into, untouched = poisoned(kind, (count,), away)
            t = f.read([kind, "text"], rows, out={kind: into})
            assert untouched() and np.array_equal(into, table[kind].to_numpy()[rows])
            assert pa.table(t).equals(table.select([kind, "text"]).slice(rows.start, count))
            if count:
                assert np.asarray(memoryview(t[kind])).ctypes.data == into.ctypes.data  # shared
                into[0] = 7
                assert t[kind].numpy()[0] == 7


def test_sources_of_memory(path, table):
    wanted = table["int64"].to_numpy()
    with zf.open(path) as f:
        raw = bytearray(8 * ROWS)
        f.read(["int64"], out={"int64": raw})
        assert bytes(raw) == wanted.tobytes()
        raw.append(1)  # nobody holds it: the table went
        typed = array.array("q", [0]) * ROWS
        kept = f.read(["int64"], out={"int64": typed})
        assert list(typed) == wanted.tolist()
        with pytest.raises(BufferError):
            typed.append(1)  # the column holds it
        del kept
        gc.collect()
        f.read(["int8"], slice(0, 1))  # owners are let go of by the next call
        typed.append(1)
        mapped = mmap.mmap(-1, 8 * ROWS)
        f.read(["int64"], out={"int64": mapped})
        assert mapped[:] == wanted.tobytes()
        for versioned in (True, False):
            into = np.zeros(ROWS, "i8")
            t = f.read(["int64"], out={"int64": Tensor(into, versioned)})
            assert np.array_equal(into, wanted) and np.asarray(memoryview(t["int64"])).ctypes.data == into.ctypes.data
        into = np.zeros((ROWS, 3), "f4")
        f.read(["vector"], out={"vector": Tensor(into)})
        assert np.array_equal(into.ravel(), table["vector"].combine_chunks().values.to_numpy())


def test_other_types(path, table):
    with zf.open(path) as f:
        day, at, time, price = np.zeros(ROWS, "i4"), np.zeros(ROWS, "i8"), np.zeros(ROWS, "i4"), np.zeros(ROWS, "i8")
        t = f.read(["day", "at", "time", "price"], out={"day": day, "at": at, "time": time, "price": price})
        assert all(np.array_equal(one, np.arange(ROWS) * by) for one, by in ((day, 1), (at, 1), (time, 1), (price, 100)))
        assert pa.table(t).equals(table.select(["day", "at", "time", "price"]))
        stamps = np.zeros(ROWS, "M8[ns]")
        f.read(["at"], out={"at": stamps.view("i8")})
        assert stamps[5] == np.datetime64(5, "ns")
        some, valid = np.full(ROWS, -1), np.full((ROWS + 7) // 8, 0xA5, "u1")
        t = f.read(["some"], out={"some": {"values": some, "validity": valid}})
        bits = np.unpackbits(valid, count=ROWS, bitorder="little")
        assert bits.tolist() == [k % 7 != 0 for k in range(ROWS)] and some.tolist() == [k if k % 7 else 0 for k in range(ROWS)]
        assert t["some"].null_count == ROWS - bits.sum() and pa.table(t).equals(table.select(["some"]))
        some[:] = -1
        assert pa.table(f.read(["some"], out={"some": some})).equals(table.select(["some"])) and some[1] == 1  # a validity of its own
        flag = np.zeros((ROWS + 7) // 8, "u1")
        assert pa.table(f.read(["flag"], out={"flag": flag})).equals(table.select(["flag"]))
        assert np.unpackbits(flag, count=ROWS, bitorder="little")[:4].tolist() == [1, 0, 0, 1]
        for rows in (slice(0, ROWS), slice(0, 0), slice(997, 3003)):
            count = rows.stop - rows.start
            sizes = f.sizes(["maybe"], rows)["maybe"]
            text, ends, valid = np.zeros(sizes["values"] + 5, "u1"), np.zeros(count + 1, "i8"), np.zeros((count + 7) // 8, "u1")
            t = f.read(["maybe"], rows, out={"maybe": {"values": text, "offsets": ends, "validity": valid}})
            want = table["maybe"].slice(rows.start, count)
            assert t["maybe"].format == "U" and pa.table(t)["maybe"].to_pylist() == want.to_pylist()
            assert text[:ends[-1]].tobytes().decode() == "".join(one or "" for one in want.to_pylist())
            assert f.read(["maybe"], rows, out={"maybe": text})["maybe"].format == "u"  # offsets of its own are as ever
            assert f.read(["maybe"], rows, binary=True, out={"maybe": {"offsets": ends}})["maybe"].format == "Z"
        vector = np.zeros((2000, 3), "f4")
        t = f.read(["vector"], slice(500, 2500), out={"vector": vector})
        assert np.array_equal(vector, np.asarray(table["vector"].slice(500, 2000).to_pylist(), "f4")) and np.array_equal(t["vector"].numpy(), vector)


@pytest.mark.parametrize("name", ["wide", "code", "view", "list", "fixed", "none"])
def test_refused_types(path, name):
    with zf.open(path) as f, pytest.raises(zf.UnsupportedError, match=name):
        f.read([name], out={name: np.zeros(ROWS, "i8")})


def test_null_lists(path):
    with zf.open(path) as f:
        with pytest.raises(zf.UnsupportedError, match="holes.*null|null.*holes"):
            f.read(["holes"], out={"holes": np.zeros((ROWS, 2), "i4")})
        into = np.zeros((5, 2), "i4")  # of these none is
        f.read(["holes"], slice(1, 6), out={"holes": into})
        assert into.tolist() == [[k, k] for k in range(1, 6)]


def test_refused_memory(path):
    good, read_only = np.zeros(ROWS, "i8"), np.zeros(ROWS, "i8")
    read_only.flags.writeable = False
    pages = np.zeros(8 * ROWS + 8, "u1")
    for wrong, says in [(np.zeros(ROWS - 1, "i8"), "shape"), (np.zeros(ROWS + 1, "i8"), "shape"), (np.zeros((ROWS, 1), "i8"), "shape"), (np.zeros(ROWS, "i4"), "int32"),
                        (np.zeros(ROWS, "u8"), "uint64"), (np.zeros(ROWS, "f8"), "float64"), (np.zeros(ROWS, ">i8"), "highest byte"), (np.zeros(ROWS, "?"), "bool8"),
                        (np.zeros(ROWS, "M8[us]"), "view"), (np.zeros(2 * ROWS, "i8")[::2], "contiguous"), (np.zeros(ROWS, "i8")[::-1], "contiguous"),
                        (read_only, "read-only"), (bytes(8 * ROWS), "read-only"), (bytearray(8 * ROWS - 1), "shape"), (pages[1:8 * ROWS + 1], "aligned"), (7, "int"),
                        ([0] * ROWS, "list"), (np.zeros(ROWS, "O"), "`O`"), (np.zeros(ROWS, "c16"), "`Zd`"), (Tensor(np.zeros(ROWS, "i4")), "int32"), (Tensor(read_only), "read-?only"),
                        (Tensor(np.zeros(2 * ROWS, "i8")[::2]), "contiguous"), (Tensor(good, device=(2, 0)), "host memory"), (Tensor(np.zeros(ROWS, "?")), "bool8"),
                        ({"values": good, "validity": np.zeros(9, "u1")}, "validity"), ({"offsets": good}, "offsets"), ({"all": good}, "all"),
                        ({"values": memoryview(b"x" * 8 * ROWS)}, "read-only")]:
        with zf.open(path) as f, pytest.raises(zf.UsageError, match=says) as caught:
            f.read(["int64"], out={"int64": wrong})
        assert caught.value.place == "int64" and "int64" in str(caught.value)
    with zf.open(path) as f:
        for out in (good, [good], 7, {"int64": good, "float64": good.view("f8")}, {"none such": good}):
            with pytest.raises(zf.UsageError):
                f.read(["int64", "int8"], out=out)
        with pytest.raises(zf.UsageError, match="vector"):
            f.read(["vector"], out={"vector": np.zeros((3, ROWS), "f4")})
        with pytest.raises(zf.UsageError, match="text.*offsets"):
            f.read(["text"], out={"text": {"offsets": np.zeros(ROWS, "i8")}})
        need = f.sizes(["text"])["text"]["values"]
        with pytest.raises(zf.UsageError, match=f"{need}.*at least"):
            f.read(["text"], out={"text": np.zeros(need - 1, "u1")})
    assert not good.any()


def test_out_of_a_field(tmp_path):
    """A field of a struct is no column of a read of the struct, and the hint says which read it needs."""
    zf.write_table(pa.table({"st": pa.array([{"x": 1}, {"x": 2}])}), tmp_path / "t.zfd")
    out = np.zeros(2, "i8")
    with zf.open(tmp_path / "t.zfd") as f:
        with pytest.raises(zf.UsageError, match="out names 'st.x', which is no column of the read") as caught:
            f.read(["st"], out={"st.x": out})
        assert "['st.x'] in place of ['st']" in caught.value.hint
        with pytest.raises(zf.UsageError) as caught:
            f.read(["st.x"], out={"other": out})
        assert caught.value.hint == "it reads st.x"
        f.read(["st.x"], out={"st.x": {"values": out}})
        assert out.tolist() == [1, 2]


@pytest.mark.parametrize("given", [None, "no capsule", 5])
def test_no_capsule(path, given):
    class Nothing(Tensor):
        def __dlpack__(self, **keywords):
            return given

    with zf.open(path) as f, pytest.raises(zf.UsageError, match="out of column 'int64' gives no tensor"):
        f.read(["int64"], out={"int64": Nothing(np.zeros(ROWS, "i8"))})


def test_overlap(path):
    both = np.zeros(2 * ROWS, "i8")
    with zf.open(path) as f:
        for first, second in ((both[:ROWS], both[:ROWS]), (both[:ROWS], both[ROWS - 1:2 * ROWS - 1]), (both[1:ROWS + 1], both[:ROWS])):
            with pytest.raises(zf.UsageError, match="overlaps"):
                f.read(["int64", "uint64"], out={"int64": first, "uint64": second.view("u8")})
        f.read(["int64", "uint64"], out={"int64": both[:ROWS], "uint64": both[ROWS:].view("u8")})
        some = np.zeros(ROWS, "i8")
        with pytest.raises(zf.UsageError, match="out of column 'some' has (values|validity) whose memory overlaps the (values|validity) of column 'some'") as caught:
            f.read(["some"], out={"some": {"values": some, "validity": some.view("u1")[:(ROWS + 7) // 8]}})
        assert {"values", "validity"} <= set(str(caught.value).split())
    data = bytearray(path.read_bytes())
    data += bytes(8 * ROWS)
    whole = np.frombuffer(data, "u1")
    with zf.open(memoryview(data)[:path.stat().st_size]) as f:
        with pytest.raises(zf.UsageError, match="has values whose memory overlaps the memory that the file is read from"):
            f.read(["uint8"], out={"uint8": whole[100:100 + ROWS]})
        f.read(["uint8"], out={"uint8": whole[path.stat().st_size:][:ROWS]})
    assert data[:path.stat().st_size] == path.read_bytes()


def test_lives(path):
    """The columns keep the memory, and nothing else does: also after errors, and on other threads."""
    into = np.zeros(ROWS, "i8")
    gone = weakref.ref(into)
    with zf.open(path) as f:
        exported = pa.array(f.read(["int64"], out={"int64": into})["int64"])
        del into
        gc.collect()
        assert gone() is not None and exported[1].as_py() == gone()[1]
        del exported
        gc.collect()
        f.read(["int8"], slice(0, 1))
        assert gone() is None
        into = np.zeros(ROWS, "i8")
        gone = weakref.ref(into)
        with pytest.raises(zf.UsageError):
            f.read(["int64", "int32"], out={"int64": into, "int32": 7})
        t = f.read(["int64"], out={"int64": into})
        thread = threading.Thread(target=lambda kept: kept.clear(), args=([t],))
        del into, t
        thread.start()
        thread.join()
        del thread
        gc.collect()
        f.read(["int8"], slice(0, 1))
        assert gone() is None


def test_damage(path, tmp_path):
    """On an error nothing says that `out` is whole; memory beside it is as it was, and it is let go of."""
    data = bytearray(path.read_bytes())
    for at in range(1000, len(data) // 2, len(data) // 40):
        data[at] ^= 0xFF
    damaged = tmp_path / "damaged.zfd"
    damaged.write_bytes(data)
    failed = 0
    with zf.open(damaged) as f:
        for name in KINDS:
            into, untouched = poisoned(name, (ROWS,))
            try:
                f.read([name], out={name: into})
            except zf.InputError:
                failed += 1
            assert untouched()
    assert failed > 0


def test_async(path, table):
    into = np.zeros(ROWS, "f8")
    with zf.open(path) as f:
        t = f.read_async(["float64", "int8"], out={"float64": into}).result()
        assert np.array_equal(into, table["float64"].to_numpy()) and np.asarray(memoryview(t["float64"])).ctypes.data == into.ctypes.data
        with pytest.raises(zf.UsageError, match="shape"):
            f.read_async(["float64"], out={"float64": into[1:]})


def test_file_object(path, table):
    into = np.zeros(ROWS, "i8")
    with open(path, "rb") as far, zf.open(far) as f:
        f.read(["int64"], out={"int64": into})
    assert np.array_equal(into, table["int64"].to_numpy())
