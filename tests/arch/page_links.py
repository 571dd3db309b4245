#!/usr/bin/env python3
"""Every relative link in a Markdown file names a file, and every anchor a heading. Every page of docs/ can be reached from README.md.

Usage: page_links.py ROOT
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
PARTS = {"tests/arch/error_examples.md"}  # a part of docs/errors.md, where its links are checked
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")


def pages():
    """The Markdown files of the tree, without build directories and hidden ones."""
    for path in sorted(ROOT.rglob("*.md")):
        parts = path.relative_to(ROOT).parts
        if path.relative_to(ROOT).as_posix() not in PARTS and parts[0] != "build" and not any(part.startswith(".") for part in parts[:-1]):
            yield path


def prose(path):
    """The text without fenced code, in which brackets are no links."""
    return re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.M | re.S)


def anchors(path):
    """The anchors of a page's headings: lower case, blanks as dashes, other punctuation dropped."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", prose(path), re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        while name in found:
            name += "-1"
        found.add(name)
    return found


def links(path):
    """(the link as written, the file it names, its anchor) of each relative link."""
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(path))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        yield link, (path.parent / name).resolve() if name else path, anchor


def main():
    wrong, count, to = [], 0, {}
    for path in pages():
        to[path] = set()
        for link, target, anchor in links(path):
            count += 1
            to[path].add(target)
            if not target.exists():
                wrong.append(f"{path.relative_to(ROOT)}: no file {link}")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                wrong.append(f"{path.relative_to(ROOT)}: no heading {link}")
    reached, left = set(), [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page not in reached:
            reached.add(page)
            left += [target for target in to.get(page, ()) if target in to]
    wrong += [f"no link leads to {path.relative_to(ROOT)}" for path in to if path.is_relative_to(ROOT / "docs") and path not in reached]
    print("\n".join(wrong + [f"{len(to)} pages, {count} links, {len(wrong)} wrong"]))
    return bool(wrong) or count < 100


if __name__ == "__main__":
    sys.exit(main())
