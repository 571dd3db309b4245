"""Programs: text of the language .zf, which gives each column of a table its type and its codec."""

import os

from . import _home
from ._errors import utf8


class Program:
    """A program, checked: `Program("table t { x: i64 = delta(bitpack); }")`.

    text: of the language (docs/language.md). name: stands for a path in errors; imports are found beside it. Raises InputError (a
    ValueError) with the place of the first error.
    """

    __slots__ = ("_text", "_name", "_owner", "_loaded")

    def __init__(self, text, name="program.zf"):
        if not isinstance(text, str):
            raise TypeError(f"a program is text, not {type(text).__name__}; of a file: Program(open(path).read(), path)")
        self._text, self._name, self._owner = text, os.fspath(name), None
        self._get()

    def _get(self):
        """The loaded program, in this process."""
        from . import _compile

        owner = _home.home()
        if self._owner is not owner:
            _home.with_compiler(owner)
            self._loaded = _compile.program(owner, owner._capsule(), os.fsencode(self._name), utf8(self._text, "the program"))
            self._owner = owner
        return self._loaded

    @property
    def text(self):
        """The program's text."""
        return self._text

    @property
    def columns(self):
        """The columns of the program's table, in order: {name: (type, codec)}. Empty unless it has one table."""
        return {name: (kind, codec) for name, kind, _, codec in self._get().columns(None)}

    def __reduce__(self):
        return Program, (self._text, self._name)

    def __repr__(self):
        return f"<zipflow.Program {self._name}: {len(self.columns)} columns>"
