"""Queries: `query`, `prepare_query` and `Query.run`, on the CPU and the emulated GPU, beside values that NumPy computes."""

import os
import threading

import numpy as np
import pyarrow as pa
import pytest

import zipflow as zf

ROWS, KEYS = 5003, 40
TEXT = """
table sales { store: u16 = bitpack; price: i64 = bitpack; rate: f64 = plain; paid: i32? = nullable(values: bitpack); toy: bool = plain; }
table stores { store: u16 = bitpack; region: u8 = bitpack; }

query all_kinds(sales) {
    param groups: u32; param factor: f64 = 0.5; param toys: bool = true; param least: i32 = -100;
    input weights: i16[]; input open: bool[];
    result total: i64[groups, 2] = sum; result money: f64 = sum; result largest: i64[groups] = max; result rate_of: f64 = min;
    result mixed: u64 = xor; result some: bool = any; result every: bool[groups] = all; result code: u16[groups] = set;
    result good: bool = mask; result id: i64 = select; result share: f32 = select;
    each {
        total[store, toy ? 1 : 0] += price * weights[store]; money += rate * factor; mixed ^= price as u64;
        if paid > least { largest[store] = max(largest[store], paid.value); }
        if price > 10000000 { rate_of = min(rate_of, rate); }
        some = some || (toy == toys && price > 400);
        every[store] = every[store] && price < 490;
        if row < 10 { code[row] = (row * 300) as u16; }
        good = open[store]; if open[store] && price > 0 { select id = row, share = rate as f32; }
    }
}

query of_stores(stores) { param wanted: u8; param keys: u32; result chosen: bool[keys] = set; result region_of: u8[keys] = set;
    each { region_of[store] = region as u8; if region == wanted { chosen[store] = true; } } }

query of_sales(sales) { input chosen: bool[]; input region_of: u8[]; result revenue: i64[8] = sum;
    each { if chosen[store] { revenue[region_of[store]] += price; } } }
"""
DEVICES = ["cpu", "emu"]


@pytest.fixture(scope="module")
def rows():
    chosen = np.random.default_rng(5)
    return {"store": chosen.integers(0, KEYS - 3, ROWS).astype("u2"), "price": chosen.integers(-500, 500, ROWS), "rate": chosen.random(ROWS),
            "paid": np.ma.masked_array(chosen.integers(-999, 999, ROWS).astype("i4"), chosen.random(ROWS) < 0.3), "toy": chosen.random(ROWS) < 0.5}


@pytest.fixture(scope="module")
def files(rows, tmp_path_factory):
    """The paths of the two tables."""
    folder = tmp_path_factory.mktemp("tables")
    columns = {name: pa.array(np.asarray(values), mask=getattr(values, "mask", None)) for name, values in rows.items()}
    fields = [pa.field(name, column.type, nullable=name == "paid") for name, column in columns.items()]
    codecs = {"store": "bitpack", "price": "bitpack", "rate": "plain", "paid": "nullable(values: bitpack)", "toy": "plain"}
    zf.write_table(pa.table(list(columns.values()), schema=pa.schema(fields)), folder / "sales.zfd", codecs, rows_per_block=4096)
    keys = np.arange(KEYS)
    fields = [pa.field("store", pa.uint16(), nullable=False), pa.field("region", pa.uint8(), nullable=False)]
    stores = pa.table([pa.array(keys.astype("u2")), pa.array((keys % 7).astype("u1"))], schema=pa.schema(fields))
    zf.write_table(stores, folder / "stores.zfd", {"store": "bitpack", "region": "bitpack"})
    return {"sales": folder / "sales.zfd", "stores": folder / "stores.zfd"}


WEIGHTS = (np.arange(KEYS) - 9).astype("i2")
OPEN = np.arange(KEYS) % 3 == 0
INPUTS = {"weights": WEIGHTS, "open": OPEN}


def tree_sum(values):
    """A sum of floats as docs/queries.md says it."""
    total = 0.0
    for begin in range(0, len(values), 1024):
        lanes = np.zeros(32)
        for part in range(begin, min(begin + 1024, len(values)), 32):
            lanes[:len(values[part:min(part + 32, len(values))])] += values[part:part + 32]
        for width in (16, 8, 4, 2, 1):
            lanes[:width] += lanes[width:2 * width]
        total += lanes[0]
    return total


def check(got, rows, groups=KEYS, factor=0.5, least=-100, begin=0):
    """Compares all results of `all_kinds` over rows from `begin` on, a multiple of 1024."""
    rows = {name: values[begin:] for name, values in rows.items()}
    store, price, rate, paid, toy = rows.values()
    total = np.zeros((groups, 2), "i8")
    np.add.at(total, (store, toy.astype("i8")), price * WEIGHTS[store])
    assert np.array_equal(got["total"], total) and got["total"].dtype == "i8"
    assert got["money"].shape == () and got["money"] == tree_sum(rate * factor)
    largest = [[paid.data[k] for k in np.flatnonzero((store == g) & ~paid.mask & (paid.data > least))] for g in range(groups)]
    assert got["largest"].dtype == "i8" and [None if not v else max(v) for v in largest] == got["largest"].tolist()
    assert got["rate_of"].shape == () and got["rate_of"].mask and got["rate_of"].dtype == "f8"
    assert got["mixed"] == np.bitwise_xor.reduce(price.view("u8")) and got["mixed"].dtype == "u8"
    assert got["some"].dtype == bool and got["some"].shape == () and got["some"]
    assert got["every"].tolist() == [bool((price[store == g] < 490).all()) for g in range(groups)]
    assert got["code"].dtype == "u2" and got["code"].tolist() == [k * 300 if begin <= k < 10 else 0 for k in range(groups)]
    good = OPEN[store]
    assert np.array_equal(got["good"], good) and got["good"].dtype == bool
    chosen = good & (price > 0)
    assert np.array_equal(got["id"], np.flatnonzero(chosen) + begin) and got["id"].dtype == "i8"
    assert np.array_equal(got["share"], rate[chosen].astype("f4")) and got["share"].dtype == "f4"
    assert list(got) == ["total", "money", "largest", "rate_of", "mixed", "some", "every", "code", "good", "id", "share"]


@pytest.mark.parametrize("device", DEVICES)
def test_all_kinds(files, rows, device):
    check(zf.query(TEXT, files, {"groups": KEYS}, INPUTS, device=device, name="all_kinds"), rows)
    got = zf.query(TEXT, files["sales"], {"groups": KEYS}, INPUTS, device=device, name="all_kinds", rows=slice(1024, None), threads=1)
    check(got, rows, begin=1024)


@pytest.mark.parametrize("device", DEVICES)
def test_runs_often(files, rows, device):
    with zf.prepare_query(TEXT, files, device=device, name="all_kinds") as query:
        assert query.params == {"groups": ("u32", True), "factor": ("f64", False), "toys": ("bool", False), "least": ("i32", False)}
        assert query.inputs == {"weights": "i16", "open": "bool"}
        assert query.results["total"] == ("i64", "sum", 2) and query.results["money"] == ("f64", "sum", 0) and query.results["id"] == ("i64", "select", 1)
        assert (query.table, query.device) == ("sales", device)
        for groups, factor, least in ((KEYS, 2, 0), (50, np.float32(0.25), np.int64(500)), (KEYS, 2, True)):
            params = {"groups": groups, "factor": factor, "least": int(least), "toys": np.True_}
            check(query.run(params, INPUTS), rows, groups, float(factor), int(least))
    with pytest.raises(ValueError, match="closed"):
        query.run({"groups": KEYS}, INPUTS)


@pytest.mark.parametrize("device", DEVICES)
def test_one_after_another(files, rows, device):
    """Results of a query are the inputs of another."""
    program = zf.Program(TEXT)
    found = zf.query(program, files, {"wanted": 3, "keys": KEYS}, name="of_stores", device=device)
    assert np.array_equal(found["chosen"], np.arange(KEYS) % 7 == 3)
    got = zf.query(program, files, inputs=found, name="of_sales", device=device)
    revenue = np.zeros(8, "i8")
    revenue[3] = rows["price"][rows["store"] % 7 == 3].sum()
    assert np.array_equal(got["revenue"], revenue)


class Tensor:
    """An array that has DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **keywords):
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_inputs(files, rows, tmp_path):
    """Inputs of every form that has the elements."""
    path = tmp_path / "inputs.zfd"
    zf.write_table(pa.table({"weights": WEIGHTS, "open": OPEN}), path, {"weights": "plain", "open": "plain"})
    stored = zf.open(path).read()
    bits = np.packbits(OPEN, bitorder="little")
    strided = np.repeat(WEIGHTS, 2)[::2]
    with zf.prepare_query(TEXT, zf.open(files["sales"]), name="all_kinds") as query:
        for weights in (WEIGHTS, WEIGHTS.tolist(), tuple(WEIGHTS.tolist()), pa.array(WEIGHTS), memoryview(WEIGHTS), WEIGHTS.tobytes(),
                        bytearray(WEIGHTS.tobytes()), strided, Tensor(WEIGHTS), stored["weights"], WEIGHTS.reshape(8, 5)):
            check(query.run({"groups": KEYS}, {"weights": weights, "open": OPEN}), rows)
        for flags in (OPEN, OPEN.tolist(), bits, bits.tobytes(), memoryview(OPEN), pa.array(OPEN), stored["open"]):
            check(query.run({"groups": KEYS}, {"weights": WEIGHTS, "open": flags}), rows)


def test_tables(files, rows, tmp_path):
    """Programs and tables of every form."""
    text = TEXT[:TEXT.index("query of_stores")]
    path = tmp_path / "one.zf"
    path.write_text(text)
    arguments = {"groups": KEYS}, INPUTS
    for program in (path, str(path), zf.Program(text), text):
        check(zf.query(program, files["sales"], *arguments), rows)
    with zf.open(files["sales"]) as file:
        check(zf.query(text, {"sales": file}, *arguments), rows)
        assert not file.closed
    check(zf.query(text, files["sales"].read_bytes(), *arguments), rows)
    data = bytearray(files["sales"].read_bytes())
    query = zf.prepare_query(text, file := zf.open(data))
    file.close()  # the query keeps it open
    check(query.run(*arguments), rows)
    with pytest.raises(BufferError):
        data.append(0)
    query.close()
    query.close()
    data.append(0)


def test_wrong_arguments(files):
    arguments = {"groups": KEYS}, INPUTS
    with zf.prepare_query(TEXT, files, name="all_kinds") as query:
        for params, says in (({}, "`groups`"), ({"groups": -1}, "-1"), ({"groups": 2**32}, "no value"), ({"groups": 1.5}, "no value"), ({"groups": True}, "no value"),
                             ({"groups": 9, "none": 1}, "no param `none`"), ({"groups": 9, "toys": 1}, "no value"), ({"groups": 9, "\udc80": 1}, "UTF-8")):
            with pytest.raises(zf.UsageError, match=says):
                query.run(params, INPUTS)
        with pytest.raises(TypeError, match="a number or a bool"):
            query.run({"groups": "9"}, INPUTS)
        for inputs, says in (({}, "`weights`"), ({"weights": WEIGHTS}, "`open`"), (INPUTS | {"none": WEIGHTS}, "no input 'none'"),
                             (INPUTS | {"weights": WEIGHTS.astype("i4")}, "int32"), (INPUTS | {"open": WEIGHTS}, "int16"),
                             (INPUTS | {"weights": [1, 1 << 20]}, "out of bounds|too large"), (INPUTS | {"weights": object()}, "object"),
                             (INPUTS | {"weights": [1, 2.5]}, "2.5"), (INPUTS | {"weights": [[3], [float("nan")]]}, "none|nan"), (INPUTS | {"open": [False, 2]}, "given 2"),
                             (INPUTS | {"weights": np.ma.masked_array(WEIGHTS, WEIGHTS == WEIGHTS[0])}, "masked"),
                             (INPUTS | {"weights": WEIGHTS.astype(">i2")}, ">i2"), (INPUTS | {"weights": b"abc"}, "no whole number")):
            with pytest.raises(zf.UsageError, match=says):
                query.run({"groups": KEYS}, inputs)
        with pytest.raises(zf.UsageError, match="'none', which is no result"):
            query.run(*arguments, out={"none": WEIGHTS})
        with pytest.raises(zf.UsageError, match="no __cuda_array_interface__"):
            query.run(*arguments, out={"total": np.zeros((KEYS, 2), "i8")})
    for call, kind, says in (
            (lambda: zf.query(TEXT, files), zf.UsageError, "name a query"), (lambda: zf.query(TEXT, files, name="none"), zf.UsageError, "no query"),
            (lambda: zf.query(TEXT, {"stores": files["stores"]}, name="of_sales"), zf.UsageError, "'sales', which is not given"),
            (lambda: zf.query(TEXT, files["stores"], name="of_sales"), zf.ColumnError, "does not have"),
            (lambda: zf.query("query", files), zf.InputError, ""), (lambda: zf.query("none.zf", files), zf.NoFileError, ""),
            (lambda: zf.query(TEXT, files, name="of_sales", device="none"), zf.DeviceError, "none"), (lambda: zf.query(3, files), TypeError, "int"),
            (lambda: zf.query(TEXT, open(files["sales"], "rb"), name="of_sales"), zf.UsageError, "file object"),
            (lambda: zf.query(TEXT, files, name="of_sales", threads=-1), zf.UsageError, "threads")):
        with pytest.raises(kind, match=says):
            call()


class OnGpu:
    """Memory that says it is a GPU's."""

    def __init__(self, address, shape, typestr, read_only=False):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (address, read_only), "version": 3}


def test_memory_of_a_device(files):
    """It has the type that it must, and is looked up among the device's."""
    arguments = {"groups": KEYS}, INPUTS
    with zf.prepare_query(TEXT, files, name="all_kinds", device="emu") as query:
        for memory, says in ((OnGpu(4096, (KEYS, 2), "<i4"), "is i64"), (OnGpu(4096, (KEYS, 2), "<i8", True), "read-only"), (OnGpu(4096, (3,), "<i8"), "24 bytes")):
            with pytest.raises(zf.UsageError, match=says):
                query.run(*arguments, out={"total": memory})
        for memory, says in ((OnGpu(4096, (KEYS,), "<u2"), "is i16"), (OnGpu(4097, (KEYS,), "<i2"), "not aligned")):
            with pytest.raises(zf.UsageError, match=says):
                query.run({"groups": KEYS}, INPUTS | {"weights": memory})
        with pytest.raises(zf.UsageError, match="not memory of the device"):  # the emulator has none there
            query.run({"groups": KEYS}, INPUTS | {"weights": OnGpu(4096, (KEYS,), "<i2", True)})


@pytest.mark.parametrize("device", DEVICES)
def test_a_check_fails(files, rows, device):
    """The row is the first that fails; the next run is good."""
    with zf.prepare_query(TEXT, files, name="all_kinds", device=device) as query:
        for _ in range(2):
            with pytest.raises(zf.InputError, match="V01") as error:
                query.run({"groups": KEYS}, INPUTS | {"weights": WEIGHTS[:20]})
            assert error.value.place.startswith(f"row {np.flatnonzero(rows['store'] >= 20)[0]},")
            check(query.run({"groups": KEYS}, INPUTS), rows)


PAIRS = """
query distances(pairs) {
    param n: u32;
    input v: i32[];
    result of: i64[n, n] = sum;
    each a in 0..n, b in a + 1..n { of[a, b] += v[b] - v[a]; }
}
"""


@pytest.mark.parametrize("device", DEVICES)
def test_pairs(files, device):
    """They lie in inputs, and need no file."""
    v = np.array([3, 7, -5, 11], "i4")
    wanted = [[int(v[b] - v[a]) if b > a else 0 for b in range(4)] for a in range(4)]
    assert zf.query(PAIRS, params={"n": 4}, inputs={"v": v}, device=device)["of"].tolist() == wanted
    with zf.prepare_query(PAIRS, device=device) as query:
        assert query.table is None and "pairs" in repr(query)
        for n in (4, 2):
            assert query.run({"n": n}, {"v": v})["of"].tolist() == [row[:n] for row in wanted[:n]]
        with pytest.raises(zf.InputError, match="V01") as error:
            query.run({"n": 5}, {"v": v})
        assert "pair" in error.value.place
    for call, says in ((lambda: zf.query(PAIRS, files["sales"], {"n": 4}, {"v": v}), "reads no file"), (lambda: zf.prepare_query(PAIRS, rows=slice(0, 1)), "no rows")):
        with pytest.raises(zf.UsageError, match=says):
            call()


@pytest.mark.parametrize("device", DEVICES)
def test_zones(rows, tmp_path, device):
    """Rows that zones exclude change nothing, whichever params exclude them."""
    text = "table t { day: i32 = plain; v: i64 = plain; } query q(t) { param from: i32; result n: i64 = sum; result most: i64 = max; " \
           "result good: bool = mask; each { good = day >= from; if day >= from { n += v; most = max(most, v); } } }"
    day, v = np.repeat(np.arange(4, dtype="i4"), 65_536), np.arange(4 * 65_536) % 1000
    table = pa.table([pa.array(day), pa.array(v)], schema=pa.schema([pa.field("day", pa.int32(), nullable=False), pa.field("v", pa.int64(), nullable=False)]))
    zf.write_table(table, tmp_path / "t.zfd", {"day": "plain", "v": "plain"}, zones=True)
    for more in ({}, *([{"from_host": True, "unit_bytes": 1}, {"from_host": True}] if device == "emu" else [])):
        with zf.prepare_query(text, tmp_path / "t.zfd", device=device, **more) as query:
            for begin in (3, 9, 2, 9):
                got = query.run({"from": begin})
                assert got["n"] == v[day >= begin].sum() and np.array_equal(got["good"], day >= begin)
                assert got["most"].tolist() == (None if begin > 3 else 999)
    with pytest.raises(zf.UsageError, match="from_host is for GPUs"):
        zf.query(text, tmp_path / "t.zfd", {"from": 1}, from_host=True)
    with pytest.raises(zf.UsageError, match="number of bytes"):
        zf.query(text, tmp_path / "t.zfd", {"from": 1}, device="emu", from_host=True, unit_bytes=-1)


def test_threads(files, rows):
    with zf.prepare_query(TEXT, files, name="all_kinds") as query:
        wrong = []

        def go():
            try:
                for _ in range(5):
                    check(query.run({"groups": KEYS}, INPUTS), rows)
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=go) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_fork(files):
    """A child prepares its own."""
    query = zf.prepare_query(TEXT, files, name="all_kinds")
    child = os.fork()
    if child == 0:
        good = False
        try:
            query.run({"groups": KEYS}, INPUTS)
        except RuntimeError as error:
            good = "fork" in str(error)
        query.close()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    query.run({"groups": KEYS}, INPUTS)
    query.close()
