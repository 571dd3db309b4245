"""The choices of tuners of several GPUs, as `speed.py --configurations` takes it (the paper's figure 22).

    configurations.py REPORT.json [REPORT.json ...] > configurations.json

Reports are those of speed.py, whose containers were tuned; the first is of the GPU that is to be measured. Rows are those of made columns that
all of them have and of which at least two chose something else.
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
import cases  # noqa: E402

MADE = {case.name for case in cases.CASES}


def chosen(report):
    """{row: choices of its kernel, as --choose has them; "" is the default}."""
    names = {(r["source"], r["column"]): r["name"] for r in report["results"] if r["by"] == "zipflow" and r.get("verified") and r.get("name") in MADE and "source" in r}
    found = {}
    for container in report.get("tuned", []):
        for each in container["each"]:
            name = names.get((container["container"], each["column"]))
            if name is not None and not container.get("options"):
                text = f"{each['kernel']}:{each['chosen']}" if each["chosen"] else ""
                found[name] = ",".join(t for t in (found.get(name, ""), text) if t)
    return found


def read(path):
    try:
        report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        report["device"]["description"], report["results"]  # what is asked of it
    except (OSError, ValueError, KeyError, TypeError) as why:
        sys.exit(f"configurations.py: {path} is no report of speed.py: {type(why).__name__}: {why}")
    return report


def configurations(reports):
    by_device = {}
    for report in reports:
        device = report["device"]["description"].partition(",")[0]
        if device in by_device:
            sys.exit(f"configurations.py: two reports are of {device}")
        by_device[device] = chosen(report)
    first = next(iter(by_device.values()))
    rows = [name for name in first if all(name in of for of in by_device.values()) and len({of[name] for of in by_device.values()}) > 1]
    return {device: {name: of[name] for name in rows} for device, of in by_device.items()}


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print(json.dumps(configurations([read(path) for path in sys.argv[1:]]), indent=1))
