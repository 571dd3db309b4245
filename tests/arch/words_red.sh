#!/bin/sh
# The check of sentences and lines must be able to fail, and must not fail on quotes, code and questions: a file for each.
# Usage: words_red.sh DIRECTORY PYTHON
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
status=0
check() { # check FILE TEXT EXPECTED: 1 if the text breaks the rule
    rm -rf "${tree:?}"/*
    printf '%b\n' "$2" > "$tree/$1"
    "$3" "$4/words.py" "$tree" few > "$tree.log"
    found=$?
    [ "$found" -eq "$5" ] || { echo "$1: \`$2\` gives $found, not $5"; cat "$tree.log"; status=1; }
    rm -f "$tree.log"
}
long=$(printf '%0121d' 0 | sed 's/0/a/g')
while IFS='|' read -r expected file text; do
    text=$(printf '%s' "$text" | sed "s/LONG/$long/")
    check "$file" "$text" "$2" "$1" "$expected"
done <<'END'
1|a.c|// What a kernel reads.
1|a.c|int a; // Of each row: its number.
1|a.h|/// Returns a row. That is all.
1|a.h|/* So it ends. */
1|a.h|// ---- What is logged ----
1|a.c|// The first line ends here.\n// What follows begins a line.
1|a.c|// It wraps here. So\n// this is one sentence.
1|a.zf|// That it is empty.
1|a.py|"""What it prints."""
1|a.py|# Of a row.
1|a.sh|# So it is.
1|a.md|The file is small. So it is read whole.
1|a.md|- What it has.
1|a.md|| a | What it has |
1|a.md|LONG
1|a.md|- x LONG
1|a.md|```\nx\n```\nLONG
1|a.md|<!-- table: a -->\n<!-- end -->\n\nLONG
1|a.md|x\n    LONG
0|a.md|```\nLONG\n```
0|a.md|x\n\n    y\n    LONG
0|a.md|| a | LONG |
0|a.md|<!-- table: a -->\n\nLONG\n\n<!-- end -->
0|a.c|// LONG
0|a.c|// What is it?
0|a.c|// Reads "What a row has. So it is." and `That one`.
0|a.c|const char *a = "// What a string holds";
0|a.c|// Returns the row. It says so. Whatever it is, it ends.
0|a.zf|//   What      A run of equal elements.
0|a.md|## What to touch
0|a.md|```\nWhat is code\n```
0|a.md|    So is this
0|a.py|a = "What a string says"
END
exit $status
