"""examples/query: TPC-H's queries 1 and 6 on lineitem at scale factor 0.01 and on made rows, on the CPU, on the emulated GPU, and with a
driver that runs the query's kernels on the host. DuckDB gives the answers. 77: there is no DuckDB, or no tpchgen-cli.

    query.py ROOT ZFC QUERY DRIVER
"""

import decimal
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction

try:
    import duckdb
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
sys.dont_write_bytecode = True
import verdict  # noqa: E402
from verdict import check  # noqa: E402

ROOT, ZFC, QUERY, DRIVER = (pathlib.Path(word).resolve() for word in sys.argv[1:])
PROGRAM = ROOT / "examples/query/lineitem.zf"
TYPES = {"l_quantity": "DECIMAL(15, 2)", "l_extendedprice": "DECIMAL(15, 2)", "l_discount": "DECIMAL(15, 2)", "l_tax": "DECIMAL(15, 2)",
         "l_returnflag": "VARCHAR", "l_linestatus": "VARCHAR", "l_shipdate": "DATE"}
DISCOUNTED = "l_extendedprice * (1 - l_discount)"
Q1 = f"""
    select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum({DISCOUNTED}), sum({DISCOUNTED} * (1 + l_tax)),
           sum(l_quantity), sum(l_extendedprice), sum(l_discount), count(*), avg(l_quantity), avg(l_extendedprice), avg(l_discount)
    from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day
    group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus"""
Q6 = """
    select sum(l_extendedprice * l_discount) from lineitem
    where l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year
          and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24"""
NAMES = "l_returnflag|l_linestatus|sum_qty|sum_base_price|sum_disc_price|sum_charge|avg_qty|avg_price|avg_disc|count_order"


def run(*words, **environment):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, env={**os.environ, **environment})


def good(*words):
    result = run(*words)
    if result.returncode != 0:
        sys.exit(f"{words}: {result.stderr}{result.stdout}")


def rounded(total, count):
    """total / count to six digits, halves up."""
    value = Fraction(total) / count * 10**6
    return str(decimal.Decimal(int(value + Fraction(1, 2))).scaleb(-6).quantize(decimal.Decimal("0.000001")))


def answers(text):
    """The output that the program must print, by DuckDB."""
    database = duckdb.connect()
    table = database.read_csv(str(text), header=True, dtype=TYPES)
    database.register("lineitem", table)
    rows = database.execute(Q1).fetchall()
    lines = [NAMES]
    for flag, status, *sums, sum_qty, sum_price, sum_discount, count, avg_qty, avg_price, avg_discount in rows:
        averages = [rounded(total, count) for total in (sum_qty, sum_price, sum_discount)]
        for mine, its in zip(averages, (avg_qty, avg_price, avg_discount)):
            check(abs(float(mine) - its) < 1e-5, "DuckDB's average", its, "is not", mine)
        lines.append("|".join([flag, status, *map(str, sums), *averages, str(count)]))
    revenue = database.execute(Q6).fetchall()[0][0]
    return {"q1": lines, "q6": ["revenue", "null" if revenue is None else str(revenue)]}


def compare(name, text, tree, on, *options):
    container, plain, wanted = tree / f"{name}.zfd", tree / f"{name}.plain", answers(text)
    good(ZFC, "encode", "-q", "-f", *options, "-c", PROGRAM, "-o", container, text)
    good(ZFC, "decode", "-q", "--device", "cpu", "-o", plain, container)
    environments = {"cpu": {"MALLOC_PERTURB_": "90"},  # memory begins as bytes of 0xa5
                    "emu": {}, "cuda": {"ZIPFLOW_CUDA_LIBRARY": str(DRIVER), "QUERY_PLAIN": str(plain)}}
    for device, environment in environments.items():
        if device not in on:
            continue
        for query, lines in wanted.items():
            result = run(QUERY, query, container, device, **environment)
            check(result.returncode == 0 and result.stdout.splitlines() == lines, name, query, device, result.returncode, result.stdout,
                  result.stderr, "wanted:", *lines)
    return container


def made(tree, name, rows):
    """A text of rows (quantity, price, discount, tax, flag, status, date)."""
    path = tree / f"{name}.csv"
    path.write_text("\n".join([",".join(TYPES), *(",".join(row) for row in rows)]) + "\n")
    return path


def refuses(status, said, *words, **environment):
    result = run(QUERY, *words, **environment)
    check(result.returncode == status and said in result.stderr and result.stdout == "", words, result.returncode, result.stdout, result.stderr)


def main():
    generator = ROOT / ".venv/bin/tpchgen-cli"
    generator = str(generator) if generator.exists() else shutil.which("tpchgen-cli")
    if generator is None:
        print("skipped: there is no tpchgen-cli")
        return 77
    with tempfile.TemporaryDirectory(prefix="zf-query-") as name:
        tree = pathlib.Path(name)
        os.environ["ZIPFLOW_CACHE_DIR"] = str(tree / "cache")
        good(generator, "csv", "-s", "0.01", "--tables", "lineitem", "--output-dir", tree)
        gpu = ["cuda"] if (QUERY.parent / "query.ptx").exists() else []
        container = compare("whole", tree / "lineitem.csv", tree, ["cpu", "emu", *gpu])
        compare("blocks", tree / "lineitem.csv", tree, ["cpu", "emu"], "--rows-per-block", "4096")
        # Around every border of both queries; sums that want more than 64 bits.
        day = [("24.00", "10.01", d, "0.08", f, s, t) for d in ("0.04", "0.05", "0.07", "0.08") for f in "ANR" for s in "FO"
               for t in ("1993-12-31", "1994-01-01", "1994-12-31", "1995-01-01", "1998-09-02", "1998-09-03")]
        day += [("23.99", "0.01", *row[2:]) for row in day]
        huge = [("9999999999999.99", "980000000000.00", "0.06", "0.08", "R", "F", "1994-06-01")] * 1000
        huge += [("1.00", "90000000000.00", "0.06", "9.99", "R", "F", "1994-06-01")] * 1000
        for label, rows in (("none", []), ("one", day[:1]), ("borders", day), ("huge", huge), ("late", [("1.00",) * 4 + ("A", "F", "1999-01-01")])):
            compare(label, made(tree, label, rows), tree, ["cpu", *gpu])
        for flags in (("X", "F"), ("A", "X"), ("R", "P")):
            strange = made(tree, "strange", [("1.00", "1.00", "0.01", "0.01", *flags, "1995-01-01")])
            good(ZFC, "encode", "-q", "-f", "-c", PROGRAM, "-o", tree / "strange.zfd", strange)
            refuses(1, "flags that TPC-H does not know", "q1", tree / "strange.zfd")
        if os.access("/dev/full", os.W_OK):
            for query in ("q1", "q6"):
                with open("/dev/full", "w", encoding="utf-8") as full:
                    result = subprocess.run([QUERY, query, container], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
                check(result.returncode == 5 and "cannot be written" in result.stderr, query, result.returncode, result.stderr)
        good(ZFC, "encode", "-q", "-c", f"{ROOT}/examples/tpch/tpch.zf:lineitem", "-o", tree / "f64.zfd", tree / "lineitem.csv")
        refuses(1, "l_quantity has another type", "q6", tree / "f64.zfd")
        (tree / "a.zf").write_text("table t { l_shipdate: date32 = bitpack; }\n")
        good(ZFC, "encode", "-q", "-c", tree / "a.zf", "-o", tree / "few.zfd", tree / "lineitem.csv")
        refuses(2, "ZF1105", "q6", tree / "few.zfd")
        damaged = bytearray(container.read_bytes())
        damaged[len(damaged) // 2] ^= 1  # within a stream: they are nearly all of the file
        (tree / "damaged.zfd").write_bytes(damaged)
        refuses(1, "damaged.zfd", "q1", tree / "damaged.zfd")
        refuses(2, "usage", "q2", container)
        refuses(3, "ZF11", "q6", container, "cuda", ZIPFLOW_CUDA_LIBRARY="/nonexistent/libcuda.so")
    print(f"kernels of the query: {'run' if gpu else 'not compiled'}; {len(verdict.failures)} failures")
    return bool(verdict.failures)


if __name__ == "__main__":
    sys.exit(main())
