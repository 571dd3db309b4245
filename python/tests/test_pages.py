"""docs/start-python.md does what it shows: each line is run, and prints what the page says."""

import doctest
import pathlib
import re

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def test_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^```.*$", "", (DOCS / "start-python.md").read_text(), flags=re.M)
    test = doctest.DocTestParser().get_doctest(text, {}, "start-python.md", "start-python.md", 0)
    assert len(test.examples) > 20
    out = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL).run(test, out=out.append)
    assert not out, "".join(out)


def test_reference():
    """docs/api-python.md names every public name."""
    import zipflow as zf

    page = (DOCS / "api-python.md").read_text()
    for name in zf.__all__:
        assert re.search(rf"`(zf\.)?{name}\b", page), name
        value = getattr(zf, name)
        if isinstance(value, type) and not issubclass(value, Exception):
            for member in vars(value):
                assert member.startswith("_") or re.search(rf"\b{member}\b", page), f"{name}.{member}"
