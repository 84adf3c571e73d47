"""Write schemas: the JSON Schemas that `hmactl schema` prints, as files for editors.

``python -m tools.schemas``; a test says when they are not current.
"""

import sys
from pathlib import Path

from hmactl.cli.schema import SCHEMAS, schema_text

DIRECTORY = Path(__file__).parent.parent / "schemas"


def main() -> int:
    """Write them."""
    DIRECTORY.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (DIRECTORY / f"{name}.json").write_text(schema_text(name), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
