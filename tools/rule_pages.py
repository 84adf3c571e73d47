"""Write docs/rules: a page for every rule, from the docstrings that `hmactl explain` prints.

``python -m tools.rule_pages``; with ``--check`` nothing is written, and the exit status is 1 if a
page is not current. ``--directory`` is for tests.
"""

import argparse
import sys
from pathlib import Path

from hmactl.rules.pages import pages

DIRECTORY = Path(__file__).parent.parent / "docs" / "rules"


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--directory", type=Path, default=DIRECTORY)
    options = parser.parse_args()
    wanted = pages()
    there = {path.name: path.read_text("utf-8") for path in options.directory.glob("*.md")}
    names = wanted.keys() | there.keys()
    stale = sorted(name for name in names if wanted.get(name) != there.get(name))
    if options.check:
        print("".join(f"{name} is not current\n" for name in stale), end="")
        return 1 if stale else 0
    options.directory.mkdir(parents=True, exist_ok=True)
    for name in stale:
        path = options.directory / name
        if name in wanted:
            path.write_text(wanted[name], "utf-8")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
