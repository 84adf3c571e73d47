"""Python modules as text: what a name in one of them stands for, found without importing any.

A module is read when it is asked for, so of a wheel only the members that matter are unpacked.
"""

import ast
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_Guard = str
# Always run; the body of a try, taken to succeed; one of two branches; an except clause.
_PLAIN, _TRIED, _MAYBE, _HANDLER = "plain", "tried", "maybe", "handler"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Found:
    """A class, with the module that defines it."""

    module: str
    node: ast.ClassDef


@dataclass(frozen=True, slots=True)
class External:
    """Something of another package."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class Called:
    """What a function of ``module`` returns at import time."""

    module: str
    function: _Function


@dataclass(frozen=True, slots=True)
class Unknown:
    """It cannot be told; ``why`` completes "unknown: ..."."""

    why: str


Meaning = Found | External | Called | Unknown


@dataclass(frozen=True, slots=True)
class _Binding:
    node: ast.stmt
    guard: _Guard
    # Of an import: the module, and the name in it (None for the module itself).
    module: str | None = None
    name: str | None = None


class Sources:
    """The modules of one package; ``read`` gives a file's text by its path, or None."""

    def __init__(
        self, package: str, read: Callable[[str], str | None], files: Iterable[str]
    ) -> None:
        self.package = package
        self._read = read
        self._files = sorted(files)
        self._trees: dict[str, ast.Module | None] = {}
        self._packages: set[str] = set()
        self.unreadable: dict[str, str] = {}

    def modules(self, below: str) -> list[str]:
        """The modules in a package, at any depth, and the package itself."""
        start = below.replace(".", "/") + "/"
        files = (f.removesuffix(".py") for f in self._files if f.endswith(".py"))
        paths = (f.removesuffix("/__init__") for f in files)
        return [p.replace("/", ".") for p in paths if f"{p}/".startswith(start)]

    def texts(self) -> Iterator[str]:
        """The text of every Python file."""
        for file in self._files:
            text = self._read(file) if file.endswith(".py") else None
            if text is not None:
                yield text

    def tree(self, module: str) -> ast.Module | None:
        """The parsed module, or None where there is none or it is no valid Python."""
        if module not in self._trees:
            self._trees[module] = self._parse(module)
        return self._trees[module]

    def meaning(self, module: str, name: str) -> Meaning:
        """What ``name`` is once ``module`` is imported, through aliases and re-exports."""
        return self._meaning(module, name, frozenset())

    def base_meaning(self, module: str, base: ast.expr) -> Meaning:
        """What a base class expression in ``module`` stands for."""
        if isinstance(base, ast.Subscript):
            base = base.value
        return self._expression(module, base, frozenset())

    def imports(self, module: str, within: str, package: str) -> list[str]:
        """What of another package ``module`` cannot be imported without, as ``module:name``, as
        far as it and the modules below ``within`` that it imports say."""
        found: set[str] = set()
        seen: set[str] = set()
        todo = [module]
        while todo:
            current = todo.pop()
            tree = None if current in seen else self.tree(current)
            seen.add(current)
            for node, guard in _executed([] if tree is None else tree.body, _PLAIN):
                for origin, name in self._imported(current, node) if guard == _PLAIN else ():
                    if origin.startswith(within):
                        todo += [origin, f"{origin}.{name}"]
                    elif origin.partition(".")[0] == package:
                        found.add(f"{origin}:{name}")
        return sorted(found)

    def has(self, wanted: str) -> bool:
        """Whether ``module:name`` can be imported, or ``module:`` the module itself."""
        module, _, name = wanted.partition(":")
        tree = self.tree(module)
        path = module.replace(".", "/")
        if tree is None:
            # An extension module, of which no source tells the names, or a namespace package.
            if any(f.startswith(f"{path}.") for f in self._files):
                return True
            below = any(f.startswith(f"{path}/") for f in self._files)
            return below and (not name or self.has(f"{module}.{name}:"))
        bound, stars = self._bindings(module, tree)
        if not name or name in bound or "__getattr__" in bound:
            return True
        if self.has(f"{module}.{name}:") or any(self.has(f"{star}:{name}") for star in stars):
            return True
        # Bound by a loop, a `with` or several at once.
        nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
        return any(n.id == name and isinstance(n.ctx, ast.Store) for n in nodes)

    def _imported(self, module: str, node: ast.stmt) -> list[tuple[str, str]]:
        """The modules that a statement imports, each with the name in it or an empty one."""
        if isinstance(node, ast.Import):
            return [(alias.name, "") for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            origin = self.absolute(module, node)
            return [(origin, alias.name.strip("*")) for alias in node.names]
        return []

    def _meaning(self, module: str, name: str, seen: frozenset[tuple[str, str]]) -> Meaning:
        if not self._own(module):
            return External(module, name)
        tree = self.tree(module)
        if tree is None:
            return Unknown(self.unreadable.get(module, f"there is no module {module}"))
        if (module, name) in seen:
            return Unknown(f"{module}.{name} is imported in a circle")
        seen |= {(module, name)}
        bound, stars = self._bindings(module, tree)
        missing = Unknown(f"{module} has no {name}")
        # What an except clause binds counts only where the attempt before it comes to nothing.
        for handlers in (False, True):
            bindings = [b for b in bound.get(name, []) if (b.guard == _HANDLER) == handlers]
            meanings = [self._of_binding(module, b, seen) for b in _in_force(bindings)]
            known = [m for m in meanings if not isinstance(m, Unknown)]
            if known:
                same = all(m == known[0] for m in known)
                return known[0] if same else Unknown(f"{module}.{name} has several definitions")
            missing = next((m for m in meanings if isinstance(m, Unknown)), missing)
        for star in stars:
            meaning = self._meaning(star, name, seen)
            if isinstance(meaning, Found | Called):
                return meaning
        return missing

    def _of_binding(
        self, module: str, binding: _Binding, seen: frozenset[tuple[str, str]]
    ) -> Meaning:
        node = binding.node
        if isinstance(node, ast.ClassDef):
            return Found(module, node)
        if isinstance(node, ast.ImportFrom) and binding.module and binding.name:
            return self._meaning(binding.module, binding.name, seen)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            return self._expression(module, node.value, seen)
        return Unknown(f"line {node.lineno} of {module} is no class")

    def _expression(self, module: str, node: ast.expr, seen: frozenset[tuple[str, str]]) -> Meaning:
        if isinstance(node, ast.Name):
            return self._meaning(module, node.id, seen)
        if isinstance(node, ast.Attribute):
            holder = self._as_module(module, node.value)
            if holder is not None:
                return self._meaning(holder, node.attr, seen)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for statement in self._statements(module):
                if isinstance(statement, _Function) and statement.name == node.func.id:
                    return Called(module, statement)
        return Unknown(f"`{ast.unparse(node)}` in {module}")

    def _as_module(self, module: str, node: ast.expr) -> str | None:
        """The module that ``a`` or ``a.b`` stands for in ``module``."""
        if isinstance(node, ast.Attribute):
            holder = self._as_module(module, node.value)
            return None if holder is None else f"{holder}.{node.attr}"
        tree = self.tree(module)
        if not isinstance(node, ast.Name) or tree is None:
            return None
        for binding in reversed(self._bindings(module, tree)[0].get(node.id, [])):
            if binding.module is not None:
                return ".".join(filter(None, (binding.module, binding.name)))
        return None

    def _statements(self, module: str) -> list[ast.stmt]:
        tree = self.tree(module)
        return [] if tree is None else tree.body

    def _bindings(
        self, module: str, tree: ast.Module
    ) -> tuple[dict[str, list[_Binding]], list[str]]:
        """What binds each name at module level, in order, and the modules of star imports."""
        bound: dict[str, list[_Binding]] = {}
        stars: list[str] = []
        for node, guard in _executed(tree.body, _PLAIN):
            for name, binding in self._names(module, node, guard):
                if name == "*":
                    stars.append(binding.module or "")
                else:
                    bound.setdefault(name, []).append(binding)
        return bound, stars

    def _names(self, module: str, node: ast.stmt, guard: _Guard) -> Iterator[tuple[str, _Binding]]:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, _Binding(node, guard)
        elif isinstance(node, ast.Assign):
            for assigned in node.targets:
                if isinstance(assigned, ast.Name):
                    yield assigned.id, _Binding(node, guard)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            if isinstance(node.target, ast.Name):
                yield node.target.id, _Binding(node, guard)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                target = alias.name if alias.asname else first
                yield alias.asname or first, _Binding(node, guard, module=target)
        elif isinstance(node, ast.ImportFrom):
            origin = self.absolute(module, node)
            for alias in node.names:
                yield (
                    alias.asname or alias.name,
                    _Binding(node, guard, module=origin, name=alias.name),
                )

    def absolute(self, module: str, node: ast.ImportFrom) -> str:
        """The module that a ``from ... import`` in ``module`` names."""
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        drop = node.level - (module in self._packages)
        return ".".join([*parts[: len(parts) - drop], *filter(None, [node.module])])

    def _own(self, module: str) -> bool:
        return module.partition(".")[0] == self.package

    def _parse(self, module: str) -> ast.Module | None:
        path = module.replace(".", "/")
        text = self._read(f"{path}/__init__.py")
        if text is not None:
            self._packages.add(module)
        else:
            text = self._read(f"{path}.py")
        if text is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                return ast.parse(text)
        except (SyntaxError, ValueError) as error:
            self.unreadable[module] = f"{module} is no valid Python: {error}"
        except (MemoryError, RecursionError):
            self.unreadable[module] = f"{module} is nested too deeply to be read"
        return None


@contextmanager
def wheel_sources(package: str, path: Path) -> Iterator[Sources]:
    """A package in a wheel, for as long as the wheel is open."""
    with zipfile.ZipFile(path) as archive:
        names = {n for n in archive.namelist() if n.startswith(f"{package}/")}

        def read(name: str) -> str | None:
            return archive.read(name).decode("utf-8", "replace") if name in names else None

        yield Sources(package, read, names)


def directory_sources(package: str, parent: Path) -> Sources:
    """A package that lies unpacked in ``parent``."""

    def read(name: str) -> str | None:
        try:
            return (parent / name).read_text("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None

    files = (p for p in (parent / package).rglob("*") if p.suffix in {".py", ".so"})
    return Sources(package, read, (p.relative_to(parent).as_posix() for p in files))


def _executed(body: list[ast.stmt], guard: _Guard) -> Iterator[tuple[ast.stmt, _Guard]]:
    """The statements that run when a module is imported, each with what it depends on."""
    for node in body:
        if isinstance(node, ast.If):
            if _type_checking(node.test):
                yield from _executed(node.orelse, guard)
            else:
                inner = guard if guard == _HANDLER else _MAYBE
                yield from _executed([*node.body, *node.orelse], inner)
        elif isinstance(node, ast.Try):
            tried = _TRIED if node.handlers and guard == _PLAIN else guard
            yield from _executed([*node.body, *node.orelse], tried)
            for handler in node.handlers:
                yield from _executed(handler.body, _HANDLER)
            yield from _executed(node.finalbody, guard)
        elif isinstance(node, ast.With):
            yield from _executed(node.body, guard)
        else:
            yield node, guard


def _type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _in_force(bindings: list[_Binding]) -> list[_Binding]:
    """The last that always runs, and what may replace it after."""
    plain = [n for n, b in enumerate(bindings) if b.guard in {_PLAIN, _TRIED}]
    return bindings[plain[-1] if plain else 0 :]
