"""What a quick command imports: only what it needs."""

import subprocess
import sys
from pathlib import Path

import pytest

PROFILE = """\
model: google/gemma-3-4b-it
connector: LMCacheConnectorV1
lmcache: {chunk_size: 256}
target: {vllm: "0.32.0", lmcache: "0.5.6"}
"""
SCRIPT = """\
#!/bin/bash
vllm serve google/gemma-3-4b-it --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1"}'
"""
MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - {name: vllm, image: "vllm/vllm-openai:v0.32.0", args: [google/gemma-3-4b-it]}
"""
ENGINES = {"lmcache", "torch", "transformers", "vllm"}
NEVER = ENGINES | {
    *(
        "argparse",
        "asyncio",
        "concurrent.futures",
        "email",
        "hashlib",
        "http",
        "importlib.metadata",
    ),
    *("logging", "multiprocessing", "pathspec", "pydantic", "rich", "socket", "ssl", "subprocess"),
    *("tomllib", "urllib.request", "zipfile", "hmactl.baseline", "hmactl.configuration.read"),
    *("hmactl.engine.ask", "hmactl.engine.model_config", "hmactl.fix.apply", "hmactl.launch"),
    *("hmactl.report.lint_json", "hmactl.report.model", "hmactl.report.sarif"),
    *("hmactl.rules.explain", "hmactl.rules.groups.engine", "hmactl.rules.groups.served"),
    *("hmactl.rules.groups.together", "hmactl.suppress"),
}
OF_A_SCRIPT = {"tree_sitter", "tree_sitter_bash", "hmactl.sources.shell.script"}
OF_A_MANIFEST = {"hmactl.sources.kubernetes.reader"}
OF_A_PROFILE = {"hmactl.sources.profile", "hmactl.sources.profile_model"}
OF_A_COMMAND = {"hmactl.sources.process.arguments", "hmactl.sources.process.deployment"}
OF_AN_ERROR = {"hmactl.sources.profile_errors"}


def _imported(*arguments: str) -> set[str]:
    """What a command imports beside what Python itself starts with."""
    script = (
        "import sys\nstart = set(sys.modules)\nfrom hmactl.cli import main\n"
        f"try: main({list(arguments)!r})\nexcept SystemExit as end: assert end.code in (0, 1)\n"
        "print('\\n'.join(set(sys.modules) - start), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("text", "needed", "unneeded"),
    [
        (PROFILE, OF_A_PROFILE, OF_A_SCRIPT | OF_A_MANIFEST | OF_A_COMMAND | OF_AN_ERROR),
        (SCRIPT, OF_A_SCRIPT | OF_A_COMMAND, OF_A_PROFILE | OF_A_MANIFEST),
        (MANIFEST, OF_A_MANIFEST | OF_A_COMMAND, OF_A_PROFILE | OF_A_SCRIPT),
    ],
    ids=["profile", "script", "manifest"],
)
def test_a_lint_imports_what_the_file_needs(
    tmp_path: Path, text: str, needed: set[str], unneeded: set[str]
) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    imported = _imported("lint", "--quiet", str(file))
    assert needed <= imported
    assert not imported & (unneeded | NEVER)


def test_what_is_asked_for_is_imported(tmp_path: Path) -> None:
    """The names above are those of modules that are imported where they are needed."""
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / ".hmactl.yaml").write_text("fail-on: warning\n")
    two = f"{PROFILE}lmcache_server: {{start: true}}\n---\n{PROFILE}envs: {{}} # hmactl: x\n"
    (tmp_path / "a.yaml").write_text(two)
    imported = _imported("lint", "--quiet", "--fix", "--format=json", str(tmp_path))
    assert imported >= {
        *("pathspec", "hmactl.configuration.read", "hmactl.fix.apply", "hmactl.report.lint_json"),
        *("hmactl.rules.explain", "hmactl.rules.groups.engine", "hmactl.rules.groups.served"),
        *("hmactl.rules.groups.together", "hmactl.suppress", *OF_AN_ERROR),
    }


def test_help_imports_nothing_but_click() -> None:
    imported = _imported("--help")
    assert {name for name in imported if name.startswith("hmactl")} == {"hmactl", "hmactl.cli"}
    assert not imported & (NEVER | {"yaml"})
