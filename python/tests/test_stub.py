"""The stub has what the package has, by name and by argument; `python -m zipflow` is zfc."""

import ast
import inspect
import pathlib
import subprocess
import sys

import zipflow as zf

PACKAGE = pathlib.Path(zf.__file__).parent


def arguments(node):
    """Names of arguments of a function of the stub, and of those with a default."""
    every = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    return [a.arg for a in every], node.args.vararg is not None


def test_stub():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    public = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")}
    private = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.startswith("_")}
    assert set(public) == set(zf.__all__)
    seen = 0
    for name, node in public.items():
        real = getattr(zf, name)
        members = [(name, node, real)] if isinstance(node, ast.FunctionDef) else [
            (f"{name}.{member.name}", member, inspect.getattr_static(real, member.name, None)) for member in node.body if isinstance(member, ast.FunctionDef)]
        for place, member, value in members:
            if member.name == "__buffer__" and sys.version_info < (3, 12):
                continue
            assert value is not None, place
            if inspect.isfunction(value):
                parameters = inspect.signature(value).parameters.values()
                names, values = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)], {p.name: p.default for p in parameters}
                stated = arguments(member)[0]
                if member.decorator_list and getattr(member.decorator_list[0], "id", "") == "overload":  # one of several has some of them
                    names = [name for name in names if name in stated]
                assert stated == names, place
                places, keywords = member.args.posonlyargs + member.args.args, zip(member.args.kwonlyargs, member.args.kw_defaults)
                given = list(zip(places[len(places) - len(member.args.defaults):], member.args.defaults)) + [pair for pair in keywords if pair[1] is not None]
                assert all(ast.literal_eval(value) == values[name.arg] for name, value in given), place
                required = [name for name in names if values[name] is inspect.Parameter.empty]
                assert not set(required) & {name.arg for name, _ in given}, place
            seen += 1
        if isinstance(node, ast.ClassDef) and not issubclass(real, Exception):
            has = {member for member in dir(real) if not member.startswith("_")}
            bodies = [node.body] + [private[base.id].body for base in node.bases if base.id in private]
            told = {m.name if isinstance(m, ast.FunctionDef) else m.target.id for body in bodies for m in body if isinstance(m, (ast.FunctionDef, ast.AnnAssign))}
            assert has == {member for member in told if not member.startswith("_")}, name
        if isinstance(node, ast.ClassDef) and issubclass(real, Exception):
            assert [base.id for base in node.bases] == [base.__name__ for base in real.__bases__], name
    assert seen > 55 and (PACKAGE / "py.typed").exists()


def test_docstrings():
    for name in zf.__all__:
        value = getattr(zf, name)
        assert value.__doc__, name
        for member, what in vars(value).items() if isinstance(value, type) else ():
            assert member.startswith("_") or isinstance(value.__dict__.get(member), type(zf.Field.name)) or what.__doc__, f"{name}.{member}"


def test_command():
    out = subprocess.run([sys.executable, "-m", "zipflow", "--version"], capture_output=True, text=True, check=True).stdout
    assert zf.__version__ in out and "zfc" in out


def test_no_command(tmp_path):
    """Without zfc the command says so."""
    for name in ("__init__.py", "__main__.py", "_compile.py"):
        (tmp_path / "zipflow").mkdir(exist_ok=True)
        (tmp_path / "zipflow" / name).write_text("" if name == "__init__.py" else (PACKAGE / name).read_text())
    done = subprocess.run([sys.executable, "-m", "zipflow"], capture_output=True, text=True, env={"PATH": "/nowhere"}, cwd=tmp_path)
    assert done.returncode == 2 and "zfc is not installed" in done.stderr
