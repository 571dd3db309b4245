#!/usr/bin/env python3
"""No sentence of a comment or of a Markdown page begins with What, Of, So or That, unless it is a question. No line of a page has more than 120 columns.

Such sentences put the verb last, or point at something that they do not name. Code and quotes are exempt. Long lines make differences unreadable. Tables, code
and what is generated are exempt.
Usage: words.py ROOT [few]. With `few` a tree may be small, as that of words_red.sh.
"""

import os
import re
import sys

SLASHES = (".c", ".h", ".l", ".y", ".def", ".cu", ".zf")
HASHES = (".py", ".sh", ".cmake", "CMakeLists.txt")
HIDDEN = ("build", "_deps", "__pycache__")
FIRST = re.compile(r"^[\s*\"'(|-]*(What|Of|So|That)\b(?! {2})")
# A sentence ends at a full stop, question or exclamation mark before a space. Cells of tables and list items are sentences, too.
END = re.compile(r"(?<=[.?!])[)\"'*_]*\s+(?=[A-Z`(*\"_])|\s\|\s?|\n\n")
WIDTH = 120
GENERATED = ("docs/errors.md", "docs/zfc.md")  # of texts that are wrapped where they are written
CODE = re.compile(r"``.+?``|`[^`\n]*`")
QUOTE = re.compile(r"\"[^\"]*\"|“[^”]*”")
STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)'")


def sentences(text):
    text = QUOTE.sub("`", CODE.sub("`", text))
    return (s for s in END.split(text) if s)


def slash_blocks(text):
    """Yields (line, text) of each run of comment lines, each comment behind code, and each /* block */."""
    begin, block = 0, []
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        code = STRING.sub(lambda m: '"' + "x" * (len(m.group()) - 2) + '"', line) if not inside else line
        start = re.match(r"\s*//[/!<]*", code)
        if inside or re.match(r"\s*/\*", code):
            if not block:
                begin = number
            inside = "*/" not in code
            block.append(re.sub(r"^\s*(/\*+|\*)?|\*/.*", "", line).strip())
        elif start:
            if not block:
                begin = number
            block.append(line[start.end() :].strip())
        else:
            if block:
                yield begin, block
            block = []
            behind = re.search(r"//+[!<]*\s|/\*+<?\s", code)
            if behind:
                yield number, [line[behind.end() :].replace("*/", "").strip()]
    if block:
        yield begin, block


def hash_blocks(text):
    """Yields (line, text) of each run of comment lines and of each docstring."""
    begin, block = 0, []
    quoted = False
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*#!?(.*)", line)
        opens = re.match(r"\s*(?:r|f)?\"\"\"(.*)", line)
        if quoted or opens:
            part = opens.group(1) if opens and not quoted else line.strip()
            if not block:
                begin = number
            closes = '"""' in part
            block.append(part.split('"""')[0])
            quoted = not closes
        elif comment:
            if not block:
                begin = number
            block.append(comment.group(1).strip())
        elif block:
            yield begin, block
            block = []
    if block:
        yield begin, block


def markdown_blocks(text):
    """Yields (line, text) of each paragraph, list item and row of a table. Headings are no sentences."""
    begin, block = 0, []
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fence = re.match(r"\s*(```|~~~)", line)
        fenced ^= bool(fence)
        starts = re.match(r"\s*([-*]|\d+\.|>|\|)\s*", line)
        code = line.startswith("#") or fence or fenced or (not block and re.match(r" {4}|\t", line))
        if block and (code or starts or not line.strip()):
            yield begin, block
            block = []
        if code or not line.strip():
            continue
        if not block:
            begin = number
        block.append(line[starts.end() :] if starts else line.strip())
    if block:
        yield begin, block


def faults(blocks):
    for begin, block in blocks:
        text = "\n".join(block)
        # Paragraphs and rules within a comment end sentences.
        for part in re.split(r"\n\s*\n|\n\s*-+ ?(?=\n)", text):
            for sentence in sentences(part):
                if FIRST.match(sentence) and not sentence.rstrip("` )\"*").endswith("?"):
                    head = re.escape(" ".join(sentence.split()[:2])).replace(r"\ ", r"\s+").replace("`", ".*?")
                    at = re.search(head, text, re.S)
                    line = begin + (text[: at.start()].count("\n") if at else 0)
                    yield line, " ".join(sentence.split())[:100]


def long_lines(text):
    """Yields (line, its beginning) of each that is too long."""
    fenced = made = code = False
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= bool(re.match(r"\s*(```|~~~)", line))
        made = line.startswith("<!-- table:") or (made and not line.startswith("<!-- end"))
        if line.strip():
            code = bool(re.match(r" {4}|\t", line)) and (code or not before.strip())
        if len(line) > WIDTH and not (fenced or made or code or re.match(r"\s*\|", line)):
            yield number, f"{len(line)} columns: {line.strip()[:60]}"
        before = line


def main():
    root = sys.argv[1]
    found = files = lines = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in HIDDEN)
        for name in sorted(names):
            split = (
                slash_blocks if name.endswith(SLASHES)
                else hash_blocks if name.endswith(HASHES)
                else markdown_blocks if name.endswith(".md")
                else None
            )  # fmt: skip
            if split is None:
                continue
            path = os.path.join(folder, name)
            files += 1
            with open(path, encoding="utf-8", errors="replace") as file:
                content, shown = file.read(), os.path.relpath(path, root)
            for line, text in faults(split(content)):
                print(f"{shown}:{line}: {text}")
                found += 1
            for line, text in long_lines(content) if name.endswith(".md") and shown not in GENERATED else ():
                print(f"{shown}:{line}: {text}")
                lines += 1
    print(f"{files} files, {found} sentences that begin with What, Of, So or That, {lines} lines of pages above {WIDTH} columns")
    if files < 500 and sys.argv[2:] != ["few"]:
        print("too few files: the check looks at the wrong tree")
        return 1
    return 1 if found or lines else 0


if __name__ == "__main__":
    sys.exit(main())
