"""script/gpu_test.py with programs that succeed and say nothing, or nothing of use: each is a failed step, and there is a verdict.
Formats whose library is missing are skipped, and so are the steps that would have judged them.

    test_gpu_test.py ROOT
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "script"))
sys.dont_write_bytecode = True
import gpu_test  # noqa: E402

PROGRAMS = ("zfc", "test_cuda", "test_cuda_shared", "test_runtime", "test_provider", "test_zones", "test_lists", "gpu_sizes", "gpu_ranges", "gpu_mutated", "gpu_states", "gpu_lies", "gpu_streams", "gpu_uneven", "gpu_chunks", "gpu_foreign", "gpu_queries", "test_prepared_query", "test_query_stretches", "test_query_large", "gpu_pipeline", "gpu_large", "gpu_module",
            "zf-differential", "differential_kernels", "query", "query.ptx", "tile_kernel", "tpchgen-cli", "compute-sanitizer", "ldd")
# Steps that believe a program's exit status, and look at nothing else.
BELIEVING = {"test_cuda", "cuda_shared", "test_runtime", "test_provider", "test_zones", "test_lists", "differential_kernels", "prepared_query", "query_stretches", "query_large", "tpch"}
# The output of any program, and the steps for which that is good.
SAYS = (
    ("", set()),
    ("nothing of use", set()),
    ("========= ERROR SUMMARY: 1 error", set()),
    ("========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)", set()),
    ("========= ERROR SUMMARY: 0 errors", {"memcheck", "racecheck", "synccheck", "initcheck"}),
    ("{broken", set()),
    ("[]", {"bench", "bench_general", "bench_columns"}),
    ("{}", {"bench", "bench_general", "bench_columns", "sizes", "sizes_general", "ranges", "mutated", "hostile", "hostile_strings", "states", "lies", "uneven_words", "streams", "pipeline", "large"}),
    ("[null]", {"bench", "bench_general", "bench_columns"}),
    ("7", {"bench", "bench_general", "bench_columns"}),
)


# Words of gpu_foreign about a format, and of compute-sanitizer about it; `{0}`: the formats whose library is missing, for sh.
FOREIGN = """#!/bin/sh
case $6 in
{0}) echo "{{\\"formats\\": {{}}, \\"skipped\\": [\\"$6\\"], \\"failures\\": 0}}" ;;
*) echo "{{\\"formats\\": {{\\"$6\\": {{\\"changed\\": $4}}}}, \\"skipped\\": [], \\"failures\\": 0}}" ;;
esac
"""
SANITIZER = """#!/bin/sh
for word; do
    case $word in */gpu_foreign) echo '{{"formats": {{}}, "skipped": {0}, "failures": 0}}' ;; esac
done
echo '========= ERROR SUMMARY: 0 errors'
"""
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


def make_pack(pack, says, scripts):
    (pack / "bin").mkdir()
    (pack / "script").mkdir()
    (pack / "COMMIT").write_text("none\n")
    for name in PROGRAMS:
        program = pack / "bin" / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
        program.chmod(0o755)
    for name, script in scripts.items():
        (pack / "bin" / name).write_text(script)
    (pack / "examples/tpch").mkdir(parents=True)
    (pack / "examples/tpch/tpch.zf").write_text("table orders {\n}\n")
    # The step `columns` leaves containers, which the steps after it would make, and no results.
    (pack / "script/demo_table.py").write_text("import pathlib, sys\n" + "".join(
        f"(pathlib.Path(sys.argv[2]) / '{table}.{ending}').write_text('')\n" for table in gpu_test.TABLES
        for ending in ("numbers.zfd", "csv")))


def run(says, **scripts):
    with tempfile.TemporaryDirectory() as tree:
        pack, out = pathlib.Path(tree) / "pack", pathlib.Path(tree) / "results"
        pack.mkdir()
        make_pack(pack, says, scripts)
        gpu_test.PACK = pack
        os.environ["PATH"] = f"{pack / 'bin'}:{PATH}"
        (pack / "none.whl").write_text("")
        sys.argv = ["gpu-test", "--device", "cuda", "--out", str(out), "--wheel", str(pack / "none.whl")]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = gpu_test.main()
        text = (out / "results.json").read_text()
        placed = [line.strip() for line in text.splitlines() if tree in line or f"{tempfile.gettempdir()}/zf-gpu-" in line]
        return code, json.loads(text), printed.getvalue(), placed


PATH = os.environ["PATH"]
wrong = 0
for says, believed in SAYS:
    code, report, printed, placed = run(says)
    for line in placed:
        print(f"programs that print {says!r}: the report says where files of this machine lie: {line}")
        wrong += 1
    status = {step["step"]: step["status"] for step in report["steps"]}
    expected = {name: "good" if name in BELIEVING | believed else "failed" for name, _ in gpu_test.STEPS}
    for name in expected:
        if status.get(name) != expected[name]:
            why = [step.get("why") for step in report["steps"] if step["step"] == name]
            print(f"programs that print {says!r}: step {name} is {status.get(name)}, not {expected[name]}: {why}")
            wrong += 1
    if code != 1 or report.get("verdict") != "not good" or "Not all steps succeeded" not in printed:
        print(f"programs that print {says!r}: exit status {code}, verdict {report.get('verdict')}")
        wrong += 1
for given, kept in ((".hidden/r/pack.tar.xz", "pack.tar.xz"), ("--pack=../r/pack.tar.xz", "--pack=pack.tar.xz"), ("/a/b/", "b"), ("blocks", "blocks"), ("--only=a,b", "--only=a,b")):
    if gpu_test.unplaced(given) != kept:
        print(f"a record has {given} as {gpu_test.unplaced(given)}")
        wrong += 1
for pattern, missing in (("none", []), ("snappy", ["snappy"]), ("*", list(gpu_test.FOREIGN))):
    code, report, _, _ = run("", **{"gpu_foreign": FOREIGN.format(pattern), "compute-sanitizer": SANITIZER.format(json.dumps(missing))})
    steps = {step["step"]: step for step in report["steps"]}
    judged = steps["foreign"].get("result", {}).get("formats")
    if judged is None or sorted([*judged, *missing]) != sorted(gpu_test.FOREIGN):
        print(f"libraries missing for {missing}: the step foreign gives {steps['foreign']}")
        wrong += 1
    for name in ("foreign", *TOOLS):
        expected, why = "skipped" if missing else "good", f"no library for {', '.join(missing)}" if missing else ""
        if steps[name]["status"] != expected or why not in steps[name].get("why", ""):
            print(f"libraries missing for {missing}: step {name} is {steps[name]['status']}, not {expected}: {steps[name].get('why')}")
            wrong += 1
    for name in TOOLS:
        if sorted(steps[name].get("result", {})) != sorted(gpu_test.SANITIZED):
            print(f"libraries missing for {missing}: step {name} does not say what it gave: {steps[name].get('result')}")
            wrong += 1
    if code != 1 or report.get("verdict") != "not good":
        print(f"libraries missing for {missing}: exit status {code}, verdict {report.get('verdict')}")
        wrong += 1
print(f"{len(SAYS) * len(gpu_test.STEPS)} steps, {wrong} wrong")
sys.exit(wrong > 0)
