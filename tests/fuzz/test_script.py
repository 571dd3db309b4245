"""script/fuzz keeps its results while it runs, ends what it started, and merges. Programs that behave like libFuzzer's stand in for the targets.

Usage: test_script.py ROOT
"""

import atexit
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import types

ROOT = pathlib.Path(sys.argv[1])
SCRIPT = ROOT / "script/fuzz"
PATIENCE = 120  # seconds
TARGETS = ("container", "kernels", "text")

# Each writes the numbers of its processes, finds one input of 3 bytes and one of 4, and says what libFuzzer says. `text` ends its first process
# with a finding. In mode `wait` it runs on until it is interrupted, which `kernels` ignores. In mode `hang` the merge does not end.
STAND_IN = r'''
import os, pathlib, shutil, signal, subprocess, sys, time
flags = dict(word[1:].split("=", 1) for word in sys.argv[1:] if word.startswith("-"))
places = [pathlib.Path(word) for word in sys.argv[1:] if not word.startswith("-")]
name, tree, mode = pathlib.Path(sys.argv[0]).name.removeprefix("fuzz_"), pathlib.Path(os.environ["STAND_IN"]), os.environ["STAND_IN_MODE"]

def note(pid):
    (tree / "pids" / str(pid)).touch()

def ended(status):
    print("stat::number_of_executed_units: 1000", file=sys.stderr, flush=True)
    os._exit(status)

def run_on():
    note(subprocess.Popen(["sleep", "600"]).pid)
    time.sleep(600)

note(os.getpid())
if "merge" in flags:
    if mode == "hang":
        run_on()
    kept, found = places
    shutil.copy(found / f"{name}-short", kept / f"{name}-short")
    sys.exit(0)
assert len(places) == 2 and "max_total_time" in flags
(places[0] / f"{name}-short").write_bytes(b"abc")
(places[0] / f"{name}-long").write_bytes(b"abcd")
signal.signal(signal.SIGINT, signal.SIG_IGN if name == "kernels" else lambda *_: ended(72))
if name == "text" and not (tree / "found").exists():
    (tree / "found").touch()
    path = flags["artifact_prefix"] + "crash-1"
    pathlib.Path(path).write_bytes(b"crash")
    print(f"FINDING it is wrong\nTest unit written to {path}", file=sys.stderr, flush=True)
    ended(77)
print("#2\tINITED cov: 5 ft: 9 corp: 1/1b\n#512\tpulse  cov: 7 ft: 11 corp: 2/7b", file=sys.stderr, flush=True)
if mode != "wait":
    ended(0)
run_on()
'''


def check(what, *said):
    if not what:
        print(*said)
        sys.exit(1)


def is_there(pid):
    """Whether a process runs: one that ended and that nobody has waited for does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        check(time.monotonic() < end, f"waited for {PATIENCE} s: {what}")
        time.sleep(0.05)
    return found


class Run:
    """A run of the script in a directory of its own."""

    def __init__(self, tree, mode, seconds, jobs=3):
        self.tree, self.out = tree, tree / "out"
        (tree / "bin").mkdir()
        (tree / "pids").mkdir()
        for name in TARGETS:
            (tree / "tests/fuzz/corpus" / name).mkdir(parents=True)
            (tree / "tests/fuzz/corpus" / name / "seed.input").write_bytes(b"seed")
            program = tree / "bin" / f"fuzz_{name}"
            program.write_text(f"#!{sys.executable}\n{STAND_IN}")
            program.chmod(0o755)
        (tree / "COMMIT").write_text("abc\n")
        self.process = subprocess.Popen(
            [sys.executable, SCRIPT, "--unpacked", tree, "--out", self.out, "all", str(seconds), str(jobs)],
            env={**os.environ, "STAND_IN": str(tree), "STAND_IN_MODE": mode}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        atexit.register(self.process.kill)  # after a check that fails

    def results(self):
        """The results of the targets that are on disk now."""
        path = self.out / "fuzz.json"
        whole = json.loads(path.read_text()) if path.exists() else {"targets": []}
        for target in whole["targets"]:
            alone = json.loads((self.tree / "run" / target["target"] / "result.json").read_text())
            check(alone["commit"] == "abc" and alone["targets"][0]["target"] == target["target"], alone)
        return whole, {target["target"]: target for target in whole["targets"]}

    def wait_until_running(self):
        """All targets run, `text` after its finding, and the results say so."""
        def is_so():
            _, of = self.results()
            return len(of) == 3 and all(target["executions"] >= 512 for target in of.values()) and of["text"]["executions"] >= 1512 and of
        of = wait_for("results of processes that run", is_so)
        check(all(target["state"] == "running" and target["edges"] == 7 and target["features"] == 11 for target in of.values()), of)
        check(of["text"]["kinds"] == ["it is wrong"] and not of["kernels"]["findings"], of)
        with tarfile.open(self.out / "findings.tar.xz") as tar:
            check(sorted(tar.getnames()) == ["text/findings/crash-1", "text/logs/job-0-0.log"], tar.getnames())
        check(len(self.pids()) >= 6, self.pids())

    def pids(self):
        return [int(path.name) for path in (self.tree / "pids").iterdir()]

    def wait_until_gone(self):
        wait_for("the end of all that the run started", lambda: not any(is_there(pid) for pid in self.pids()))

    def end(self):
        said = self.process.communicate(timeout=PATIENCE)[0].decode()
        self.wait_until_gone()
        return said, *self.results()

    def packed(self):
        with tarfile.open(self.out / "corpus.tar.xz") as tar:
            return sorted(tar.getnames())


def in_directory(test):
    with tempfile.TemporaryDirectory() as directory:
        test(pathlib.Path(directory))


def killed(tree):
    """A run that is killed leaves its results, and no process."""
    run = Run(tree, "wait", 600)
    run.wait_until_running()
    run.process.kill()
    run.process.wait()
    run.wait_until_gone()
    whole, of = run.results()
    check(whole["state"] == "running" and of["text"]["executions"] == 1512 and of["container"]["executions"] == 512, whole)


def stopped(tree):
    """A run that is asked to end takes the statistics of its processes, and packs what it has."""
    run = Run(tree, "wait", 600)
    run.wait_until_running()
    run.process.send_signal(signal.SIGTERM)
    said, whole, of = run.end()
    check(run.process.returncode == 1 and "it is wrong" in said, run.process.returncode, said)
    check(whole["state"] == "stopped" and all(target["state"] == "stopped" for target in of.values()), whole)
    check(of["container"]["executions"] == 1000 and of["text"]["executions"] == 2000 and len(of["text"]["findings"]) == 1, whole)
    check(of["kernels"]["executions"] == 512, "a process that had to be killed has the executions of its log", of["kernels"])
    check(run.packed() == sorted(f"{name}/corpus/{name}-{which}" for name in TARGETS for which in ("short", "long")), run.packed())


def whole_run(tree):
    """A run that ends packs what the merge kept, without the seeds."""
    run = Run(tree, "end", 600)
    said, whole, of = run.end()
    check(run.process.returncode == 1 and whole["state"] == "ended" and whole["merge_seconds"] == 100, said, whole)
    check(of["kernels"]["executions"] == 1000 and of["text"]["executions"] == 2000 and all(target["merged"] for target in of.values()), whole)
    check(of["kernels"]["cpu_seconds_since_finding"] == of["kernels"]["cpu_seconds"], whole)
    check(run.packed() == sorted(f"{name}/corpus/{name}-short" for name in TARGETS), run.packed())


def late_merge(tree):
    """A merge that does not end in its time is ended, and all new inputs are packed."""
    run = Run(tree, "hang", 6)
    said, whole, of = run.end()
    check(whole["state"] == "ended" and not any(target["merged"] for target in of.values()), said, whole)
    check(len(run.packed()) == 6, run.packed())


def module_of_script():
    loader = importlib.machinery.SourceFileLoader("fuzz_script", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz_script", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def findings(module):
    """A job whose every process ends with a finding ends after MOST_FINDINGS of them."""
    place = types.SimpleNamespace(command=lambda name: [name], seeds=lambda name: [])
    guard = types.SimpleNamespace(start=lambda command, place, log: None)
    job = module.Job(types.SimpleNamespace(place=place, guard=guard, name="text", work=pathlib.Path("work")), 0, None)
    starts = sum(job.start(time.monotonic() + 600) for _ in range(2 * module.MOST_FINDINGS))
    check(starts == module.MOST_FINDINGS, f"{starts} processes, each with a finding")


def shares(module):
    names = ["container", "encode", "graph", "input", "kernels", "module", "text"]
    check(module.share(names, 16) == {**dict.fromkeys(names, 2), "kernels": 3, "encode": 3}, module.share(names, 16))
    check(module.share(names, 2) == dict.fromkeys(names, 1), module.share(names, 2))
    check(module.share(["text"], 4) == {"text": 4}, module.share(["text"], 4))


script = module_of_script()
shares(script)
findings(script)
with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they wait most of their time
    for done in [pool.submit(in_directory, one) for one in (killed, stopped, whole_run, late_merge)]:
        done.result()
print("script/fuzz keeps its results")
