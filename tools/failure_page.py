"""Write docs/failures.md: every failure that `hmactl diagnose` knows, from the data.

``python -m tools.failure_page``.
"""

from pathlib import Path

from hmactl.launch.failures_page import page

if __name__ == "__main__":
    (Path(__file__).parent.parent / "docs" / "failures.md").write_text(page(), "utf-8")
