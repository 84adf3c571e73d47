"""Misspelt names: «wrong|right» is where a text has the one and the edit writes the other."""

import re

import pytest
from fixing import Linter, compose, pod
from hypothesis import given, settings
from hypothesis import strategies as st

LINTER = Linter("0.32.0", "0.5.6")
lint, found, fixed = LINTER.lint, LINTER.found, LINTER.fixed
MODEL = "meta-llama/Llama-3.1-8B-Instruct"
SERVED = '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both", '
HOST = '"kv_connector_extra_config": {"«lmcache.mp.hots|lmcache.mp.host»": "tcp://cache"}}'
POD, COMPOSE = pod("0.32.0"), compose("0.32.0")

CASES = {
    ("LMS002", "shell"): f"vllm serve {MODEL} \\\n --kv-transfer-config '{SERVED}{HOST}' # ours\n",
    ("LMS002", "variable"): f"K='{SERVED}{HOST}'\nvllm serve {MODEL} --kv-transfer-config \"$K\"\n",
    ("LMS002", "escaped"): f"vllm serve {MODEL} --kv-transfer-config "
    f'"{(SERVED + HOST).replace(chr(34), chr(92) + chr(34))}"\n',
    ("LMS002", "several lines"): f"vllm serve {MODEL} --kv-transfer-config '{{\n"
    f'  "kv_connector": "LMCacheMPConnector", "kv_role": "kv_both",\n  {HOST}\'\n',
    ("LMS002", "list"): f"{POD}      args:\n        - --model={MODEL}\n"
    f"        - --kv-transfer-config\n        - '{SERVED}{HOST}'  # ours\n",
    ("LMS002", "folded"): f"{POD}      command: [sh, -c]\n      args:\n        - >-\n"
    f"          vllm serve {MODEL}\n          --kv-transfer-config '{SERVED}{HOST}'\n",
    ("LMS002", "systemd"): "[Service]\nExecStart=/usr/bin/vllm serve "
    f"{MODEL} --kv-transfer-config '{SERVED}{HOST}'\n",
    ("LMS002", "shell form"): f"FROM vllm/vllm-openai:v0.32.0\nENTRYPOINT vllm serve {MODEL} "
    f"--kv-transfer-config '{SERVED}{HOST}'\n",
    ("LMS002", "compose"): f"{COMPOSE}    command: >\n      --model {MODEL}\n"
    f"      --kv-transfer-config '{SERVED}{HOST}'\n",
    ("LMS002", "profile"): f"model: {MODEL}\nconnector:\n  name: LMCacheMPConnector\n"
    "  extra_config: {«lmcache.mp.hots|lmcache.mp.host»: tcp://cache}  # ours\n",
    ("LMS002", "vLLM's file"): f"model: {MODEL}\nmax-model-len: 4096\nkv-transfer-config:\n"
    "  kv_connector: LMCacheMPConnector\n  kv_role: kv_both\n  kv_connector_extra_config:\n"
    "    «lmcache.mp.hots|lmcache.mp.host»: tcp://cache\n",
    ("LMS002", "JSON in vLLM's file"): f"model: {MODEL}\nmax-model-len: 4096\n"
    f"kv-transfer-config: '{SERVED}{HOST}'  # ours\n",
    ("LMS002", "JSON in a block"): f"model: {MODEL}\nmax-model-len: 4096\n"
    f"kv-transfer-config: >-\n  {SERVED}\n  {HOST}\n",
    ("LMC007", "shell"): f"vllm serve {MODEL} --kv-transfer-config "
    '\'{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", "kv_connector_extra_config": '
    '{"«lmcache.chunksize|lmcache.chunk_size»": 512}}\'\n',
    ("CON019", "shell"): f"vllm serve {MODEL} --kv-transfer-config "
    '\'{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", '
    '"«kv_load_failure_polcy|kv_load_failure_policy»": "fail"}\'\n',
    ("CON001", "shell"): f"vllm serve {MODEL} --kv-transfer-config "
    '\'{"kv_connector": "«LMCacheConectorV1|LMCacheConnectorV1»", "kv_role": "kv_both"}\'\n',
    ("CON001", "profile"): f"model: {MODEL}\nconnector: «LMCacheConectorV1|LMCacheConnectorV1»\n",
    ("CON001", "mapping"): f"model: {MODEL}\nconnector:\n"
    "  name: '«LMCacheConectorV1|LMCacheConnectorV1»'  # ours\n",
    ("CON001", "child"): f"model: {MODEL}\nconnector:\n  name: MultiConnector\n  children:\n"
    "    - name: NixlConnector\n    - name: «LMCacheConectorV1|LMCacheConnectorV1»\n",
    ("CLI001", "shell"): f"vllm serve {MODEL} «--max-model-lem|--max-model-len» 4096 # ours\n",
    ("CLI001", "underscores"): f"vllm serve {MODEL} «--max_model_lem|--max_model_len»=4096\n",
    ("CLI001", "list"): f"{POD}      args:\n        - --model={MODEL}\n"
    '        - "«--max-model-lem|--max-model-len»=4096"\n',
    ("CLI001", "profile"): f"model: {MODEL}\nvllm:\n  «max_model_lem|max_model_len»: 4096\n",
    ("CLI005", "shell"): f"vllm serve {MODEL} «--max-model-l|--max-model-len» 4096\n",
    ("CLI005", "negative"): f"vllm serve {MODEL} «--no-enable-prefix-cachi|"
    "--no-enable-prefix-caching»\n",
    ("CLI009", "list"): f"{POD}      args:\n        - --model={MODEL}\n"
    "        - --kv-cache-dtype\n        - «'\"auto\"'|'auto'»\n",
    ("LMS003", "profile"): f"model: {MODEL}\nconnector: LMCacheMPConnector\nlmcache_server:\n"
    "  l1-size-gb: 60\n  eviction-policy: LRU\n  «chunk-sise|chunk-size»: 256\n",
    ("CLI008", "list"): f"{POD}      args:\n        - --model={MODEL}\n"
    "        - «--port |--port=»8000  # ours\n",
    ("CLI008", "quoted"): f"{POD}      args:\n        - --model={MODEL}\n"
    '        - "«--max-model-len  |--max-model-len=»8192"\n',
    ("K8S002", "args"): f'{POD}      args: [--model, {MODEL}, --port, «8000|"8000"»]\n',
    ("K8S002", "env"): f"{POD}      args: [--model, {MODEL}]\n      env:\n"
    '        - name: VLLM_X\n          value: «yes|"yes"»  # ours\n',
    ("K8S024", "compose"): f"{COMPOSE}    command: --model {MODEL}\n    environment:\n"
    "      - VLLM_X=«'/a/b'|/a/b»\n",
    ("LMC020", "LMCache's file"): "chunk_size: 256\nlocal_cpu: true\n"
    "remote_url: '«\"lm://a:65432\"|lm://a:65432»'  # ours\n",
    ("LMC024", "profile"): f"model: {MODEL}\nconnector: LMCacheConnectorV1\n"
    "lmcache:\n  cache_policy: «LRUU|LRU»  # ours\n",
    ("CLI002", "profile"): f"model: {MODEL}\nvllm:\n  enforce-eager: «'True'|true»  # ours\n",
    ("CLI002", "vLLM's file"): f'model: {MODEL}\nmax-model-len: 8\nenforce_eager: «"no"|false»\n',
    ("CLI002", "a choice"): f"vllm serve {MODEL} --dtype «bfloat15|bfloat16» --port 1\n",
    ("CLI002", "a choice in a profile"): f"model: {MODEL}\nvllm: {{dtype: «bfloat15|bfloat16»}}\n",
    ("LMC037", "profile"): f"model: {MODEL}\nconnector:\n  name: LMCacheMPConnector\n"
    "  extra_config: {lmcache.mp.eager_prefetch: «'false'|false»}  # ours\n",
    ("LMC037", "JSON"): f"vllm serve {MODEL} --kv-transfer-config '{SERVED}"
    '"kv_connector_extra_config": {"lmcache.mp.eager_prefetch": «"off"|false»}}\'\n',
    ("K8S026", "compose"): f'{COMPOSE}    command: [--model, {MODEL}, --port, «8000|"8000"»]\n',
}


def written(marked: str) -> str:
    return re.sub("«([^|»]*)\\|[^»]*»", r"\1", marked)


def right(marked: str) -> str:
    return re.sub("«[^|»]*\\|([^»]*)»", r"\1", marked)


@pytest.mark.parametrize(("case", "marked"), CASES.items(), ids=map(" ".join, CASES))
def test_a_misspelt_name(case: tuple[str, str], marked: str) -> None:
    rule, _form = case
    assert rule in found(written(marked))
    assert fixed(written(marked)) == right(marked)
    assert fixed(right(marked)) == right(marked)
    assert rule not in found(right(marked))


@pytest.mark.parametrize("form", ["shell", "list", "folded", "systemd", "profile", "vLLM's file"])
def test_the_finding_is_at_the_key(form: str) -> None:
    text = written(CASES["LMS002", form])
    (finding,) = (f for f in lint(text).findings if f.id == "LMS002")
    line, column = finding.origin.line, finding.origin.column
    assert line is not None
    assert column is not None
    assert text.splitlines()[line - 1][column - 1 :].startswith("lmcache.mp.hots")


UNCERTAIN = {
    "taken": f"vllm serve {MODEL} --kv-transfer-config '{SERVED}"
    '"kv_connector_extra_config": {"lmcache.mp.hots": "a", "lmcache.mp.host": "b"}}\'\n',
    "escapes of YAML": f'{POD}      args: ["--model={MODEL}", "--kv-transfer-config", '
    f'"{(SERVED + written(HOST)).replace(chr(34), chr(92) + chr(34))}"]\n',
    "escapes of JSON": f"vllm serve {MODEL} --kv-transfer-config '{SERVED}"
    '"kv_connector_extra_config": {"lmcache.mp.\\u0068ots": "a"}}\'\n',
    "in pieces": f"vllm serve {MODEL} --kv-transfer-config '{SERVED}"
    '"kv_connector_extra_config": {"lmcache.mp.h\'"ots"\'": "a"}}\'\n',
    "nothing like it": f"vllm serve {MODEL} --kv-transfer-config '{SERVED}"
    '"kv_connector_extra_config": {"lmcache.mp.zzzzzzzz": "a"}}\'\n',
}


@pytest.mark.parametrize("text", UNCERTAIN.values(), ids=UNCERTAIN)
def test_no_edit_where_the_name_or_its_place_is_not_certain(text: str) -> None:
    assert "LMS002" in found(text)
    assert fixed(text) == text


_BLANKS = st.sampled_from(["", " ", "  ", "\n  "])


@settings(max_examples=60, deadline=None)
@given(st.permutations(["hots", "port", "other"]), st.lists(_BLANKS, min_size=6, max_size=6))
def test_only_the_key_changes_however_the_json_is_laid_out(
    keys: list[str], blanks: list[str]
) -> None:
    values = {"hots": '"tcp://é"', "port": "5555", "other": '"lmcache.mp.hots"'}
    names = {"hots": "lmcache.mp.hots", "port": "lmcache.mp.port", "other": "ours"}
    extra = f",{blanks[0]}".join(
        f'"{names[key]}"{blanks[n]}:{blanks[n + 3]}{values[key]}' for n, key in enumerate(keys)
    )
    text = f"vllm serve {MODEL} --kv-transfer-config '{SERVED}"
    text += f'"kv_connector_extra_config":{blanks[5]}{{{extra}}}}}\'\n'
    once = fixed(text)
    key = re.compile(r'"lmcache\.mp\.hots"(?=\s*:)')
    assert once == key.sub('"lmcache.mp.host"', text)
    assert fixed(once) == once


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            "K8S024",
            f"{COMPOSE}    command: --model {MODEL}\n    environment:\n      - \"X='a b'\"\n",
        ),
        ("CLI008", f"{POD}      args:\n        - --model={MODEL}\n        - --port '8000'\n"),
        ("CLI009", f"vllm serve {MODEL} --api-key \"'abc'\"\n"),
        ("CON001", f"model: {MODEL}\nconnector: LMCacheConnector\n"),
    ],
    ids=lambda text: text[:6],
)
def test_there_is_more_than_one_way_or_a_secret(rule: str, text: str) -> None:
    assert rule in found(text)
    assert fixed(text) == text


STATES = "Qwen/Qwen3-Next-80B-A3B-Instruct"
ASKED_OFF = {
    "profile": f"model: {STATES}\nhma: «disable|auto»  # ours\n",
    "command": f"vllm serve {STATES}« --disable-hybrid-kv-cache-manager|» --port 1\n",
}


@pytest.mark.parametrize("marked", ASKED_OFF.values(), ids=ASKED_OFF)
def test_hma_asked_off_only_where_changing_it_is_asked_for(marked: str) -> None:
    text = written(marked)
    assert "HMA004" in found(text)
    assert fixed(text) == text
    assert LINTER.fixed(text, unsafe=True) == right(marked)
    assert "HMA004" not in found(right(marked))
