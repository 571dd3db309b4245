"""The page of `zfc inspect --html`: what it shows, that it needs nothing else, and that no text of a file becomes part of it.

Usage: test_page.py ZFC [unittest arguments]"""

import html
import json
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import zfc_case  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = '</script><script>document.title = "taken"</script><b>&amp;'
PROGRAM = """table t {
    number: i64 = delta(bitpack) | bitpack | plain;
    text: string? = nullable(values: dictionary(bitpack, strings(bitpack)) | strings(bitpack));
    other: i32 = rle(bitpack, bitpack) | bitpack;
}
"""


def setUpModule():
    zfc_case.cache_of_module()


class Page(zfc_case.Case):
    def encode(self, rows, *options):
        self.file("t.zf", PROGRAM)
        lines = [f"{k * k % 1009},{'' if k % 7 == 0 else 'word' + str(k % 13)},{k // 100}" for k in range(rows)]
        quoted = '"' + HOSTILE.replace('"', '""') + '"'
        self.file("t.csv", f"number,text,{quoted}\n" + "".join(line + "\n" for line in lines))
        self.good("encode", "-q", "-f", "-c", self.dir / "t.zf", self.dir / "t.csv", "-o", self.dir / "t.zfd", f"--field=other={HOSTILE}", *options)

    def page(self, *options):
        text = self.good("inspect", "--html", self.dir / "t.zfd", *options)
        found = re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.DOTALL)
        return text, json.loads(found[1])

    def test_it_has_the_report(self):
        self.encode(20_000, "--rows-per-block", "4096", "--metadata", f"source={HOSTILE}")
        text, report = self.page()
        whole = json.loads(self.good("inspect", "--json", self.dir / "t.zfd"))
        self.assertTrue(text.startswith("<!doctype html>") and text.rstrip().endswith("</html>"))
        for key in ("file", "table", "rows", "bytes", "parts", "features", "metadata", "programs"):
            self.assertEqual(report[key], whole[key], key)
        for shown, column in zip(report["columns"], whole["columns"], strict=True):
            streams = {}
            for stream in (s for block in column["blocks"] for s in block["streams"]):
                sums = streams.setdefault(stream["path"], [0, 0])
                sums[0] += stream["bytes"]
                sums[1] += stream["elements"]
            self.assertEqual({s["path"]: [s["bytes"], s["elements"]] for s in shown["streams"]}, streams)
            self.assertEqual(shown["block_count"], 5)
            self.assertEqual([(b["first_row"], b["rows"], b["bytes"], b["codec"]) for b in shown["blocks"]],
                             [(b["first_row"], b["rows"], b["bytes"], b["codec"]) for b in column["blocks"]])
        self.assertEqual([c["name"] for c in self.page("--columns", "text")[1]["columns"]], ["text"])

    def test_many_blocks_are_few_lines(self):
        self.encode(3001, "--rows-per-block", "1")
        for column in self.page()[1]["columns"]:
            self.assertEqual(column["block_count"], 3001)
            self.assertEqual(sum(b["blocks"] for b in column["blocks"]), 3001)
            self.assertEqual(sum(b["rows"] for b in column["blocks"]), 3001)
            self.assertLessEqual(len(column["blocks"]), 256)
            self.assertEqual(column["blocks"][1]["first_row"], column["blocks"][0]["rows"])

    def test_nothing_else_is_needed(self):
        self.encode(10)
        text = self.page()[0]
        for word in ("http:", "https:", "src=", "@import", "url(", "fetch(", "@REPORT@"):
            self.assertNotIn(word, text)
        self.assertEqual(text.count("</script>"), 2)
        self.assertNotIn("<b>", text)

    def test_options(self):
        self.encode(0)
        self.page()
        for other in ("--json", "-v", "--program"):
            self.bad(2, "inspect", "--html", other, self.dir / "t.zfd", says="goes without")
        self.good("compile", "-q", self.dir / "t.zfd", "-o", self.dir / "t.zfm")
        self.bad(2, "inspect", "--html", self.dir / "t.zfm", says="go with containers")

    @unittest.skipUnless(BROWSER, "no Chromium")
    def test_a_browser_shows_it(self):
        self.encode(20_000, "--rows-per-block", "4096")
        text = self.page()[0]
        opened = "<script>for (const box of document.querySelectorAll('details')) box.open = true;</script></body>"
        path = self.file("page.html", text.replace("</body>", opened))
        words = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.dir / 'profile'}", "--virtual-time-budget=5000", "--dump-dom")
        shown = subprocess.run([BROWSER, *words, path.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
        self.assertIn("<title>t.zfd</title>", shown)  # a text of the file would have set another
        plain = html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<(script|style).*?</\1>", " ", shown, flags=re.DOTALL)))
        for text in ("20,000 rows", "3 columns", HOSTILE, "Streams", "every byte of the file", "4,096", "bitpack", "word"):
            (self.assertNotIn if text == "word" else self.assertIn)(text.lower(), plain.lower())
        self.assertNotIn("undefined", plain)
        self.assertNotIn("NaN", plain)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
