"""Every kernel of kernels.zf through ptxas, for every architecture from 8.0 on that this ptxas knows: it must be assembled, have
static shared memory within the limit, and registers and spills about as kernels.json has them.

Usage: ptxas_kernels.py ZFC SOURCE_DIR [--all | --write | --turn N]

A sixth of the kernels is assembled for 9.0, a quarter of which is compared with itself without lines. The other architectures share
a third among themselves. Half of the chosen ways are assembled. At each turn others are. At every turn the names and forms of all
kernels are those of the record, but whether a scan copies strings is seen only in kernels that are assembled. --all: all kernels for
all. --write: the same, and renews kernels.json.

ptxas is $PTXAS, or the one in PATH, or in /usr/local/cuda/bin. Exit status 77 when there is none.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ZFC, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
WRITE = "--write" in sys.argv[3:]
ALL = WRITE or "--all" in sys.argv[3:]
TURN = int(sys.argv[sys.argv.index("--turn") + 1]) if "--turn" in sys.argv[3:] else 0
SEEN_EACH = 1 if ALL else 6  # one in so many variants is assembled for 9.0
PLAIN_EACH = 1 if ALL else 4  # and one in so many of these without lines, too
SHARED_EACH = 3  # of the variants that architectures share, one in so many is assembled
CHOSEN_EACH = 1 if ALL else 2  # of CHOSEN
HERE = SOURCE / "tests/ptxas"
PROGRAM, RECORD = HERE / "kernels.zf", HERE / "kernels.json"
SHARED_MOST = 48 * 1024  # static shared memory of a thread block, on every architecture
REGISTERS_APART = 8  # registers are given to warps in eights a thread
SHAPING = {"width": 7, "digits": 2, "log": 11, "bits": 8, "k": 2, "n": 4, "length": 15}  # of the specialised form, by a param's name
SPILLS_APART = 64  # bytes, of kernels that spill already
PARTS = 4  # runs of ptxas an architecture
TEXT_BYTES = 2080  # in which a warp puts strings together (codegen/simt/simt_text.c)
# Those of the table of forms; text: scans that copy strings.
FORMS = ("text", *re.findall(r"^ZF_FORM\(\w+, (\w+),", (SOURCE / "codegen/simt/forms/forms.def").read_text(), re.M))

# Ways to lower that somebody may choose (`zfc explain --choices`), where they make code of another kind: columns, and choices.
MAPS = ("bitpack_u8", "bitpack_i64", "dictionary_bitpack_u8", "dictionary_bitpack_i32", "float2int_bitpack_f64")
CHOSEN = [(MAPS, ("0:STAGE=1", "0:STAGE=2,L=8,THREADS=128", "0:STAGE=1,L=2,THREADS=1024,REGISTERS=32")),
          (("dictionary_bitpack_i32", "dictionary_bitpack_i64"), ("0:TABLE=0", "0:TABLE=32,THREADS=512,PREFETCH=1")),
          (("bitpack_u8", "dictionary_bitpack_u8", "rle_u8", "rle_bitpack_u8"), ("0:C=4", "0:C=8,THREADS=256")),
          (("pfor_bitpack_i64", "rle_i64"), ("0:C=1,THREADS=32", "0:THREADS=128")),
          (("pfor_bitpack_i32", "alp_bitpack_f64"), ("0:STAGE=0", "0:STAGE=0,THREADS=256")),
          (("delta_bitpack_i32", "gpu_dfor_i32"), ("0:L=1,THREADS=1024,REGISTERS=32", "0:L=4,THREADS=128")),
          (("bitpack_u8", "bitpack_i64", "float2int_bitpack_f64"), ("0:PREFETCH=1", "0:PREFETCH=1,STAGE=2,L=8,THREADS=128")),
          (("gpu_for_i32", "gpu_dfor_i32"), ("0:PREFETCH=0",)),
          (("gpu_rfor_i32",), ("0:L=1,THREADS=128", "0:L=8")),
          (("lz4_u8", "snappy_u8"), ("0:RECORDS=0", "0:RECORDS=1,THREADS=256")),
          (("lz4_u8",), ("0:WARPS=2", "0:WARPS=4", "0:WARPS=8,RECORDS=1")),
          (("delta_bitpack_i64",), ("0:PREFETCH=1", "0:PREFETCH=1,THREADS=64")),
          (("delta_stride_bitpack_i64", "rle_i64", "alp_bitpack_f64"), ("0:PREFETCH=0", "0:PREFETCH=1,THREADS=32")),
          (("delta_bitpack_i32", "delta_bitpack_i64"), ("0:STAGE=0", "0:STAGE=1,L=2,THREADS=256"))]

faults = []


def fault(text):
    faults.append(text)


def good(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def find_ptxas():
    path = os.environ.get("PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not shutil.which(path):
        print("skipped: there is no ptxas (in $PTXAS, in PATH, in /usr/local/cuda/bin)")
        sys.exit(77)
    return path


def architectures(ptxas):
    """The architectures of this ptxas, from 8.0 on: not the variants (sm_90a), for which code is the same."""
    text = good(ptxas, "--help")
    allowed = re.search(r"--gpu-name.*?Allowed values for this option:(.*?)Default", text, re.S)
    found = sorted({int(arch) for arch in re.findall(r"'sm_(\d+)'", allowed.group(1))}) if allowed else []
    found = [arch for arch in found if arch >= 80]
    if not {80, 90} <= set(found):
        sys.exit(f"this ptxas says that it knows {found}: neither 8.0 nor 9.0, or its help has changed")
    return found


# ---- PTX ----------------------------------------------------------------------------------------------------------

Kernel = collections.namedtuple("Kernel", "name form")  # COLUMN.N general|special, and how it is run


def variants():
    """Columns, each in the general form and, where params shape code, in one specialised form."""
    report = json.loads(good(ZFC, "explain", "--json", f"{PROGRAM}:kernels"))
    for column in report["columns"]:
        yield column["column"], "general", ()
        if column["shaping"]:
            names = [name.split(".")[-1] for name in column["shaping"]]
            values = (SHAPING[name] for name in names)
            yield column["column"], "special", ("--shaping", ",".join(map(str, values)))


def chosen_variants(specialised):
    """The columns of CHOSEN, with the values that `specialised` has compiled in."""
    words = {column: shaping for column, form, shaping in specialised if form == "special"}
    for columns, choices in CHOSEN:
        for column in columns:
            for text in choices:
                yield column, text, (*words.get(column, ()), "--choose", text)


def ptx_of(variant, arch, *more):
    column, _, shaping = variant
    return good(ZFC, "explain", "--emit=ptx", "--arch", arch, *more, *shaping, f"{PROGRAM}:kernels.{column}")


def without_lines(ptx):
    """PTX but for what says where it came from."""
    directive = re.compile(r"\t\.(loc|file)\t|\s*$")
    return [line for line in ptx.splitlines() if not directive.match(line)]


def forms_of(*choices):
    """{column: how each of its kernels is run}, as the compiler says."""
    report = json.loads(good(ZFC, "explain", "--choices", "--json", "--target", "nvptx", *choices))
    return {column["column"]: [kernel["form"] for kernel in column["kernels"]] for column in report["columns"]}


def forms_of_variants(all_variants):
    """{variant: the same of its kernels}."""
    usual = forms_of(f"{PROGRAM}:kernels")
    return {variant: forms_of("--choose", variant[1], f"{PROGRAM}:kernels.{variant[0]}")[variant[0]] if "--choose" in variant[2] else usual[variant[0]]
            for variant in all_variants}


def names_of(variant, forms):
    return [f"{variant[0]}.{k} {variant[1]}" for k in range(len(forms))]


def kernels_of_forms(variant, forms, record):
    """Kernels that are not assembled at this turn. The compiler's list has some that PTX has not; the record says which ones, and
    which scans copy strings."""
    kernels = []
    for name, form in zip(names_of(variant, forms), forms):
        copies = form == "scan" and record["kernels"].get(name, {}).get("form") == "text"
        if name not in record["without_code"]:
            kernels.append(Kernel(name, "text" if copies else form))
    return kernels


def kernels_of(variant, ptx, forms):
    bodies = re.split(r"\.visible \.entry zf_kernel_(?=\d)", ptx)[1:]
    sizes = dict(re.findall(r"\.shared .*\b(shared_\d+)\[(\d+)\]", ptx))
    kernels = []
    for k, body in enumerate(bodies):
        form = forms[k]
        copies = {int(sizes[name]) for name in re.findall(r"shared_\d+", body) if name in sizes} == {TEXT_BYTES}
        kernels.append(Kernel(f"{variant[0]}.{k} {variant[1]}", "text" if form == "scan" and copies else form))
    return kernels


def merged(modules):
    """Several modules as one: symbols get a prefix, files other numbers."""
    text, files = [], 0
    for number, ptx in enumerate(modules):
        head, body = re.match(r"(.*?\.address_size 64\n)(.*)", ptx, re.S).groups()
        if number == 0:
            text.append(head)
        names = set(re.findall(r"^(?:\.\w+ )*\.(?:global|shared|const)\b[^=;\[{]*?([\w$]+)\[", body, re.M)) | {"zf_kernel"}
        body = re.sub(rf"(?<![\w$])({'|'.join(map(re.escape, sorted(names)))})(?=_\d|\b)", rf"m{number}_\1", body)
        body = re.sub(r"(\.(?:loc|file)\t)(\d+)", lambda found: f"{found[1]}{int(found[2]) + files}", body)
        files += len(re.findall(r"^\t\.file\t", body, re.M))
        text.append(body)
    return "".join(text)


# ---- ptxas --------------------------------------------------------------------------------------------------------

Usage = collections.namedtuple("Usage", "registers spills shared")


def assemble(ptxas, arch, group, directory, lines=True):
    """The resources of kernels, by name. `group`: variants with their PTX."""
    path = pathlib.Path(directory) / f"{arch}-{lines}-{abs(hash(group[0][0]))}.ptx"
    path.write_text(merged([ptx for _, ptx in group]))
    done = subprocess.run([ptxas, "-v", f"-arch=sm_{arch}", *(["-lineinfo"] if lines else []), str(path), "-o", str(path) + ".cubin"],
                          capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        names = ", ".join(" ".join(variant[:2]) for variant, _ in group)
        fault(f"sm_{arch}: ptxas refuses one of {names}:\n{said[-2000:]}")
        return {}
    used = {}
    for part in re.split(r"Compiling entry function '", said)[1:]:
        module, number = re.match(r"m(\d+)_zf_kernel_(\d+)'", part).groups()
        spills = sum(map(int, re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part).groups()))
        shared = re.search(r"(\d+) bytes smem", part)
        column, form, _ = group[int(module)][0]
        used[f"{column}.{number} {form}"] = Usage(int(re.search(r"Used (\d+) registers", part)[1]), spills, int(shared[1]) if shared else 0)
    return used


def shares(archs, variants):
    """Which variants are assembled for which architecture."""
    others = [arch for arch in archs if arch != 90 and not ALL]
    for arch in archs:
        each = SHARED_EACH * len(others)
        yield arch, variants[(others.index(arch) + TURN) % each::each] if arch in others else variants[TURN % SEEN_EACH::SEEN_EACH]


def use_all(pool, ptxas, directory, wanted, lines=True):
    """Usage by architecture and kernel. `wanted`: variants with their PTX, by architecture."""
    jobs = []
    for arch, group in wanted.items():
        for part in range(PARTS):
            if group[part::PARTS]:
                jobs.append((arch, pool.submit(assemble, ptxas, arch, group[part::PARTS], directory, lines)))
    used = {arch: {} for arch in wanted}
    for arch, job in jobs:
        used[arch].update(job.result())
    return used


def assemble_own(ptxas, archs, directory):
    """The kernels that the library has as text."""
    for path in sorted((SOURCE / "runtime/device/cuda/kernels").glob("*.ptx")):
        for arch in archs:
            said = subprocess.run([ptxas, "-v", f"-arch=sm_{arch}", path, "-o", f"{directory}/own.cubin"], capture_output=True, text=True, timeout=300)
            if said.returncode != 0 or "0 bytes spill stores" not in said.stderr + said.stdout:
                fault(f"sm_{arch}: {path.name} is refused, or spills:\n{said.stderr}")
    check = subprocess.run([SOURCE / "script/kernels", "--check"], capture_output=True, text=True, timeout=300)
    if check.returncode not in (0, 77):
        fault(check.stdout + check.stderr)


# ---- Judgement ----------------------------------------------------------------------------------------------------

def check_coverage(kernels):
    """Every algorithm of the library is here that has an encoder of its own: others decode as such do. And every way to run kernels in
    both forms."""
    text = PROGRAM.read_text()
    for path in sorted((SOURCE / "dsl/std").glob("*.zf")):
        for algorithm in re.split(r"^algorithm ", path.read_text(), flags=re.M)[1:]:
            name = re.match(r"\w+", algorithm)[0]
            if "encode extern" not in algorithm and not re.search(rf"[=(,]\s*(?:\w+: )?{name}\b", text):
                fault(f"{PROGRAM.name} has no column of `{name}`, which {path.name} declares")
    for form in FORMS:
        for variant in ("general", "special"):
            if not any(kernel.form == form and kernel.name.endswith(variant) for kernel in kernels):
                fault(f"no kernel is run as `{form}`, {variant}")


def check_limits(used):
    for arch, by_name in used.items():
        for name, use in by_name.items():
            if use.shared > SHARED_MOST:
                fault(f"sm_{arch}: {name} has {use.shared} bytes of static shared memory, {SHARED_MOST} is the most")


def check_record(used, kernels, without_code, version):
    record = json.loads(RECORD.read_text())
    renew = f"if that is meant: python3 tests/ptxas/ptxas_kernels.py {os.path.relpath(ZFC, SOURCE)} . --write"
    same = record["ptxas"] == version
    if not same:
        print(f"registers and spills are not compared: this is ptxas {version}, the record is of {record['ptxas']}")
    unknown = sorted({kernel.name for kernel in kernels} ^ set(record["kernels"]))
    if unknown:
        fault(f"only here, or only in the record: {', '.join(unknown)}; {renew}")
    unknown = sorted(without_code ^ set(record["without_code"]))
    if unknown:
        fault(f"without code only here, or only in the record: {', '.join(unknown)}; {renew}")
    for kernel in kernels:
        known = record["kernels"].get(kernel.name)
        if known is None:
            continue
        if kernel.form != known["form"]:
            fault(f"{kernel.name} is run as `{kernel.form}`, `{known['form']}` in the record; {renew}")
        for arch, by_name in used.items():
            use, what = by_name.get(kernel.name), f"sm_{arch}: {kernel.name}"
            if use is None:
                continue
            if use.shared != known["shared"]:
                fault(f"{what}: {use.shared} bytes of shared memory, {known['shared']} in the record; {renew}")
            if not same or arch not in record["architectures"]:
                continue
            at = record["architectures"].index(arch)
            registers, spills = known["registers"][at], known["spills"][at]
            if abs(use.registers - registers) > REGISTERS_APART:
                fault(f"{what}: {use.registers} registers, {registers} in the record; {renew}")
            if use.spills > (spills + SPILLS_APART if spills else 0):
                fault(f"{what} spills: {use.spills} bytes stored and loaded, {spills} in the record; {renew}")


def write_record(used, kernels, without_code, version):
    """Renews the record, and says what spills now and did not: nobody finds that in a diff of all kernels."""
    known, lines = json.loads(RECORD.read_text()) if RECORD.exists() else {"architectures": [], "kernels": {}}, []
    for kernel in sorted(kernels):
        uses = [by_name[kernel.name] for by_name in used.values()]
        row = {"form": kernel.form, "shared": uses[0].shared, "registers": [use.registers for use in uses],
               "spills": [use.spills for use in uses]}
        lines.append(f"    {json.dumps(kernel.name)}: {json.dumps(row)}")
        before = dict(zip(known["architectures"], known["kernels"].get(kernel.name, {"spills": []})["spills"]))
        new = [f"sm_{arch} {use.spills}" for arch, use in zip(used, uses) if use.spills > 0 and before.get(arch, 0) == 0]
        if new:
            print(f"{kernel.name} spills, and did not: {', '.join(new)}")
    RECORD.write_text('{\n  "ptxas": ' + json.dumps(version) + ',\n  "shaping": ' + json.dumps(SHAPING) + ',\n  "architectures": '
                      + json.dumps(list(used)) + ',\n  "without_code": ' + json.dumps(sorted(without_code)) + ',\n  "kernels": {\n' + ",\n".join(lines) + "\n  }\n}\n")
    print(f"{RECORD} was written")


def main():
    ptxas = find_ptxas()
    version = re.search(r"V[\d.]+", good(ptxas, "--version"))[0]
    archs = architectures(ptxas)
    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(threads) as pool:
        assemble_own(ptxas, archs, directory)
        all_variants = list(variants())
        shared = dict(shares(archs, all_variants))
        before = {variant for arch, share in shared.items() if arch < 90 for variant in share}
        since = {variant for arch, share in shared.items() if arch >= 90 for variant in share}
        compared = shared[90][TURN // SEEN_EACH % PLAIN_EACH::PLAIN_EACH]
        texts = {}
        for words, chosen in (((80,), [v for v in all_variants if v in before]), ((90,), [v for v in all_variants if v in since]),
                              ((90, "--no-lines"), compared)):
            texts[words] = chosen, pool.map(lambda variant, words=words: ptx_of(variant, *words), chosen)
        ptx80, ptx90, plain90 = (dict(zip(*made)) for made in texts.values())
        forms = forms_of_variants(all_variants)
        record = json.loads(RECORD.read_text()) if not ALL else None  # which looks at all kernels
        kernels_by = {variant: kernels_of(variant, ptx90[variant], forms[variant]) if variant in ptx90 else
                      kernels_of_forms(variant, forms[variant], record) for variant in all_variants}
        kernels = [kernel for of_variant in kernels_by.values() for kernel in of_variant]
        names = {variant: [kernel.name for kernel in of_variant] for variant, of_variant in kernels_by.items()}
        without_code = {name for variant in all_variants for name in set(names_of(variant, forms[variant])) - set(names[variant])}
        wanted = {arch: [(variant, (ptx90 if arch >= 90 else ptx80)[variant]) for variant in share]
                  for arch, share in shared.items()}
        used = use_all(pool, ptxas, directory, wanted)
        plain = use_all(pool, ptxas, directory, {90: list(plain90.items())}, lines=False)
        chosen = list(chosen_variants(all_variants))[TURN % CHOSEN_EACH::CHOSEN_EACH]
        for arch in (80, 90, archs[-1]) if ALL else (90,) if TURN % 3 == 0 else (90, (80, archs[-1])[TURN % 3 - 1]):
            group = list(zip(chosen, pool.map(lambda variant, arch=arch: ptx_of(variant, 90 if arch >= 90 else 80), chosen)))
            made = use_all(pool, ptxas, directory, {arch: group})
            check_limits(made)
            missing = {f"{column}.0 {text}" for column, text, _ in chosen} - set(made[arch])
            if missing:
                fault(f"sm_{arch}: ptxas says nothing of {', '.join(sorted(missing))}")
            if arch == 90:
                staged = [name for name, use in made[90].items() if re.search("STAGE=[12]", name) and use.shared == 0]
                if staged or not all("cp.async" in ptx for variant, ptx in group if re.search("STAGE=[12]", variant[1])):
                    fault(f"nothing is staged: {', '.join(staged)}")
                # gpu_for's loads are put in order instead
                if not all("prefetch.global" in ptx for variant, ptx in group if "PREFETCH=1" in variant[1] and not variant[0].startswith("gpu_for")):
                    fault("nothing is prefetched")
        for variant, ptx in ptx90.items():
            plain_ptx = plain90.get(variant)
            if "\t.loc\t" not in ptx or "\t.loc\t" in (plain_ptx or "") or re.search(r"^\.target.*debug", ptx, re.M):
                fault(f"{variant[0]} {variant[1]}: lines, or a debug target, where they must not be, or none where they must")
            if plain_ptx is not None and without_lines(ptx) != without_lines(plain_ptx):
                fault(f"{variant[0]} {variant[1]}: another code with lines than without")
        for arch, group in wanted.items():
            silent = {name for variant, _ in group for name in names[variant]} - set(used[arch])
            if silent:
                fault(f"sm_{arch}: ptxas says nothing of {', '.join(sorted(silent))}")
    check_coverage(kernels)
    check_limits(used)
    for name in [name for variant in compared for name in names[variant]]:
        if used[90].get(name) != plain[90].get(name):
            fault(f"{name}: {used[90].get(name)} with lines, {plain[90].get(name)} without")
    if WRITE and not faults:
        write_record(used, kernels, without_code, version)
    elif not WRITE:
        check_record(used, kernels, without_code, version)
    forms = ", ".join(f"{sum(kernel.form == form for kernel in kernels)} {form}" for form in FORMS)
    spilling = sum(any(by_name.get(kernel.name, Usage(0, 0, 0)).spills for by_name in used.values()) for kernel in kernels)
    print(f"{len(kernels)} kernels ({forms}; {spilling} spill somewhere) for {', '.join(f'sm_{arch}' for arch in archs)} by ptxas {version}: {len(faults)} faults")
    for text in faults[:40]:
        print(text)
    return 1 if faults or not kernels else 0


sys.exit(main())
