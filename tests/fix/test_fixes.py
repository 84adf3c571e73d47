"""The edits that rules offer: linted, fixed and linted again."""

from dataclasses import dataclass

import pytest
from fixing import Linter
from hypothesis import given, settings
from hypothesis import strategies as st

from hmactl.rules.misspelt import meant

fixed = Linter("0.32.0", "0.5.6").fixed
HEAD = "model: google/gemma-3-4b-it\nconnector: LMCacheConnectorV1\n"
SERVE = (
    "vllm serve google/gemma-3-4b-it --kv-transfer-config "
    '\'{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}\''
)
POD = """kind: Pod
spec:
  containers:
    - command: [vllm, serve]
"""


@dataclass(frozen=True)
class Fix:
    name: str
    before: str
    after: str
    unsafe: bool = False


FIXES = [
    Fix("PRO004", "modell: a/b  # ours\n", "model: a/b  # ours\n"),
    Fix("PRO004 taken", "model: a/b\nmodell: c/d\n", "model: a/b\nmodell: c/d\n"),
    Fix("PRO004 other", "model: a/b\nimage: c\n", "model: a/b\nimage: c\n"),
    Fix(
        "LMC001 former",
        f"{HEAD}lmcache: {{local_device: cpu}}\n",
        f"{HEAD}lmcache: {{local_device: cpu}}\n",
    ),
    Fix("PRO005", "model: a/b\nvllm:\n  --seed: 1  # x\n", "model: a/b\nvllm:\n  seed: 1  # x\n"),
    Fix("PRO005 -", "model: a/b\nvllm: {-tp: 1}\n", "model: a/b\nvllm: {-tp: 1}\n"),
    Fix(
        "PRO005 taken",
        "model: a/b\nvllm: {--max_num_seqs: 1, max-num-seqs: 2}\n",
        "model: a/b\nvllm: {--max_num_seqs: 1, max-num-seqs: 2}\n",
    ),
    Fix(
        "PRO005 of LMCache",
        "model: a/b\nlmcache: {Chunk-Size: 256}\n",
        "model: a/b\nlmcache: {chunk_size: 256}\n",
    ),
    Fix("PRO004 quoted", '"modell": a/b\n', '"model": a/b\n'),
    Fix(
        "LMC001",
        f"{HEAD}lmcache:\n  max_local_cpu_sise:   20.0 # x\n",
        f"{HEAD}lmcache:\n  max_local_cpu_size:   20.0 # x\n",
    ),
    Fix(
        "LMC001 taken",
        f"{HEAD}lmcache: {{max_local_cpu_sise: 2, max_local_cpu_size: 1}}\n",
        f"{HEAD}lmcache: {{max_local_cpu_sise: 2, max_local_cpu_size: 1}}\n",
    ),
    Fix(
        "LMC005",
        f"export LMCACHE_CHUNKSIZE=256\n{SERVE}\n",
        f"export LMCACHE_CHUNK_SIZE=256\n{SERVE}\n",
    ),
    Fix(
        "LMC008",
        f"export LMCACHE_LOCAL_CPU='yes'; {SERVE}\n",
        f"export LMCACHE_LOCAL_CPU='true'; {SERVE}\n",
    ),
    Fix(
        "LMC008 in doubt",
        f"export LMCACHE_LOCAL_CPU=perhaps\n{SERVE}\n",
        f"export LMCACHE_LOCAL_CPU=perhaps\n{SERVE}\n",
    ),
    Fix(
        "CLI003",
        f"{SERVE} --enable-prefix-caching true \\\n  --port 1\n",
        f"{SERVE} --enable-prefix-caching \\\n  --port 1\n",
    ),
    Fix(
        "CLI003 in a list",
        f"{POD}      args: [m, --enable-prefix-caching, 'true']\n",
        f"{POD}      args: [m, --enable-prefix-caching, 'true']\n",
    ),
    Fix(
        "CLI003 negated",
        f"{SERVE} --enable_prefix_caching=false\n",
        f"{SERVE} --no-enable-prefix-caching\n",
    ),
    Fix(
        "LMC004 needs unsafe",
        f"{HEAD}lmcache: {{chunk_size: 200}}\n",
        f"{HEAD}lmcache: {{chunk_size: 200}}\n",
    ),
    Fix(
        "LMC004",
        f"{HEAD}lmcache: {{chunk_size: 200}}\n",
        f"{HEAD}lmcache: {{chunk_size: 192}}\n",
        unsafe=True,
    ),
]


@pytest.mark.parametrize("case", FIXES, ids=lambda case: case.name)
def test_fixes(case: Fix) -> None:
    after = fixed(case.before, unsafe=case.unsafe)
    assert after == case.after
    assert fixed(after, unsafe=case.unsafe) == after


_LINES = st.lists(
    st.sampled_from(
        [
            "chunk_size: 200",
            "max_local_cpu_sise: 20.0",
            "local_cpu: 'on'  # é",
            "chunk_sice: 256",
            "remote_ulr: lm://a:1",
            "nothing_like_it: 1",
        ]
    ),
    unique=True,
    max_size=5,
)
_VARIABLES = st.lists(
    st.sampled_from(
        ["LMCACHE_LOCAL_CPU: 'yes'", 'LMCACHE_CHUNKSIZE: "256"', "LMCACHE_USE_LAYERWISE: 'y'"]
    ),
    unique=True,
)


@settings(max_examples=40, deadline=None)
@given(_LINES, _VARIABLES, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_fixing_twice_is_fixing_once(
    lines: list[str], variables: list[str], unsafe: bool, end: str
) -> None:
    sections = [("lmcache", lines), ("env", variables)]
    written = [f"{name}:{end}  {f'{end}  '.join(body)}{end}" for name, body in sections if body]
    text = HEAD.replace("\n", end) + "".join(written)
    once = fixed(text, unsafe=unsafe)
    assert fixed(once, unsafe=unsafe) == once
    assert once.count(end) == text.count(end)


@pytest.mark.parametrize(
    ("name", "near", "taken", "answer"),
    [
        (
            "max_local_cpu_sise",
            ["max_local_cpu_size", "max_local_disk_size"],
            (),
            "max_local_cpu_size",
        ),
        ("max_local_cpu_sise", ["max_local_cpu_size"], ("max_local_cpu_size",), None),
        ("max_local_size", ["max_local_disk_size", "max_local_cpu_size"], (), None),
        ("chunk", ["chunk_size"], (), "chunk_size"),
        ("chunksize", ["chunk_size"], (), "chunk_size"),
        ("chunk_sizes", ["chunk_size"], (), "chunk_size"),
        ("hunk_sice", ["chunk_size"], (), None),
        # A former name that is about something else, and names of other things.
        ("local_device", ["local_disk"], (), None),
        ("p2p_role", ["pd_role"], (), None),
        ("chunk_size_mb", ["chunk_size"], (), None),
        ("lmcache.mp.hots", ["lmcache.mp.host", "lmcache.mp.port"], (), "lmcache.mp.host"),
        ("lmcache.mp.hash", ["lmcache.mp.host"], (), None),
        ("posts", ["ports", "post"], (), None),
        ("chunk", [], (), None),
    ],
)
def test_the_name_that_was_meant(
    name: str, near: list[str], taken: tuple[str, ...], answer: str | None
) -> None:
    assert meant(name, near, taken) == answer
