"""Names of the three packages, and the metadata that they share, from pyproject.toml and CMakeLists.txt."""

import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMMARIES = {
    "zipflow": "Columns in files that decode fast, on CPUs and GPUs: Arrow, DLPack, codecs in a small language",
    "zipflow-runtime": None,  # of pyproject.toml
    "zipflow-compile": "The compiler of zipflow, with LLVM inside",
}


def version():
    return re.search(r"^project\(zipflow VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def requires(name):
    """Other packages that a package needs, each of the same version."""
    return {"zipflow": ("zipflow-runtime", "zipflow-compile"), "zipflow-compile": ("zipflow-runtime",)}.get(name, ())


def core_metadata(name, licenses):
    """The file METADATA or PKG-INFO. licenses: names of files in the folder licenses/."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version()}", f"Summary: {SUMMARIES[name] or project['description']}",
             f"Keywords: {','.join(project['keywords'])}", f"License-Expression: {project['license']}"]
    lines += [f"License-File: {file}" for file in licenses]
    lines += [f"Classifier: {text}" for text in project["classifiers"]]
    lines += [f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {other}=={version()}" for other in requires(name)]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text()]
    return "\n".join(lines)
