"""The walls between the rooms (see CONTRIBUTING.md)."""

import ast
import sys
from pathlib import Path

import pytest

import hmactl

ROOT = Path(hmactl.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
# Every room, and the rooms that it may import.
ALLOWED = {
    "catalogue": set(),
    "deployment": set(),
    "finding": {"deployment"},
    "engine": {"catalogue", "deployment"},
    "sources": {"catalogue", "deployment", "finding"},
    "facts": {"catalogue", "deployment", "engine"},
    "account": {"deployment", "engine", "facts"},
    "verdict": {"catalogue", "deployment", "engine", "facts"},
    "rules": {"catalogue", "deployment", "engine", "facts", "finding", "verdict"},
    "checked": {"deployment", "facts", "finding", "rules", "verdict"},
    "check": {
        *("catalogue", "checked", "deployment", "engine", "facts"),
        *("finding", "rules", "sources", "verdict"),
    },
    "lint": {
        *("catalogue", "checked", "deployment", "engine", "facts"),
        *("finding", "rules", "sources", "verdict"),
    },
    "lint_files": {"checked", "deployment", "finding", "fix", "lint", "sources"},
    "report": {
        *("account", "checked", "deployment", "engine", "facts"),
        *("finding", "fix", "rules", "verdict"),
    },
    "suppress": {"deployment", "finding"},
    "configuration": {"deployment", "finding", "sources"},
    "fix": {"deployment", "finding"},
    "baseline": {"fix", "report"},
    "launch": {
        *("catalogue", "deployment", "engine", "facts", "finding", "report", "rules", "verdict"),
    },
}


def _imports(path: Path) -> set[str]:
    """Dotted names of what a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_room_looks_back(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    rooms = {name.split(".")[1] for name in _imports(path) if name.startswith("hmactl.")}
    if room in {"cli", "__init__", "__main__"}:
        return
    assert rooms - {room} <= ALLOWED[room]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "engine" / "dryboot").glob("*.py")), ids=lambda p: p.name
)
def test_the_dry_boot_imports_nothing_of_hmactl(path: Path) -> None:
    roots = {name.split(".")[0] for name in _imports(path)}
    engine = {"lmcache", "torch", "transformers", "triton", "vllm"}
    assert roots <= set(sys.stdlib_module_names) | engine
