"""A flag more, or one less, in every form: what stands between « and » is all that changes."""

import re
from typing import Any

import pytest
from fixing import Linter, compose, pod
from hypothesis import given, settings
from hypothesis import strategies as st

from hmactl import lint_files
from hmactl.sources.read import read_source

# The last vLLM that switches HMA off with any connector unless it is asked not to.
LINTER = Linter("0.21.0", None)
found, fixed = LINTER.found, LINTER.fixed
ON = "--no-disable-hybrid-kv-cache-manager"
JSON = '{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}'
ESCAPED = JSON.replace('"', '\\"')
MODEL = "openai/gpt-oss-20b"
POD, COMPOSE = pod("0.21.0"), compose("0.21.0")

SHELL = {
    "one line": f"vllm serve {MODEL} «{ON} »--kv-transfer-config '{JSON}'  # ours\n",
    "underscores": f"vllm serve {MODEL} «{ON} »--kv_transfer_config '{JSON}'\n",
    "dotted": f"vllm serve {MODEL} «{ON} »--kv-transfer-config.kv_connector OffloadingConnector "
    "--kv-transfer-config.kv_role kv_both\n",
    "several lines": f"vllm serve {MODEL} \\\n  --port 1 \\\n"
    f"  «{ON} \\\n  »--kv-transfer-config '{JSON}' \\\n  --max-model-len 4096 # last\n",
    "the last line": f"vllm serve {MODEL} \\\n\t«{ON} \\\n\t»--kv-transfer-config='{JSON}'",
    "array": f"A=(\n  --port 1  # one\n  «{ON} »--kv-transfer-config '{JSON}'\n)\n"
    f'vllm serve {MODEL} "${{A[@]}}"\n',
    "array on one line": f"A=(«{ON} »--kv-transfer-config '{JSON}')\n"
    f'vllm serve {MODEL} "${{A[@]}}"\n',
    "quoted": f"vllm serve {MODEL} «{ON} »\"--kv-transfer-config\" '{JSON}'\n",
    "quoted with its value": f"vllm serve {MODEL} «{ON} »'--kv-transfer-config={JSON}'\n",
    "variable": f'A="«{ON} »--kv-transfer-config {ESCAPED}"\nvllm serve {MODEL} $A\n',
    "value elsewhere": f"K='{JSON}'\nvllm serve {MODEL} «{ON} »--kv-transfer-config \"$K\"\n",
    "bash -c": f"bash -c \"vllm serve {MODEL} «{ON} »--kv-transfer-config '{ESCAPED}'\"\n",
    "function": '#!/bin/bash\ns() { vllm serve "$1" «'
    f"{ON} »--kv-transfer-config '{JSON}'; }}\ns {MODEL}\ns meta-llama/Llama-3.1-8B-Instruct\n",
}
OTHERS = {
    "list": f"{POD}      args:\n        - --model={MODEL}\n        # ours\n"
    f"        «- {ON}\n        »- --kv-transfer-config  # this\n        - '{JSON}'\n",
    "quoted list": f'{POD}      command: ["vllm"]\n      args:\n      - "serve"\n      - {MODEL}\n'
    f"      «- {ON}\n      »- \"--kv-transfer-config\"\n      - '{JSON}'\n",
    "joined": f"{POD}      args:\n      - --model={MODEL}\n"
    f"      «- {ON}\n      »- '--kv-transfer-config={JSON}'\n",
    "flow list": f"{POD}      args: [--model, {MODEL}, «{ON}, »--kv-transfer-config, '{JSON}']\n",
    "quoted flow list": f'{POD}      args: ["--model", "{MODEL}",\n'
    f'        «"{ON}",\n        »"--kv-transfer-config", \'{JSON}\']\n',
    "folded": f"{POD}      command: [sh, -c]\n      args:\n        - >-\n"
    f"          vllm serve {MODEL}\n          «{ON} »--kv-transfer-config '{JSON}'\n",
    "script": f"{POD}      command: [sh, -c]\n      args:\n        - |\n"
    f"          exec vllm serve {MODEL} \\\n"
    f"            «{ON} \\\n            »--kv-transfer-config '{JSON}'\n",
    "variable of a pod": f"{POD}      command: [sh, -c, 'vllm serve {MODEL} $ARGS']\n      env:\n"
    f'        - name: ARGS\n          value: "«{ON} »--kv-transfer-config {ESCAPED}"\n',
    "systemd": "[Service]\n# ours\nExecStart=/usr/bin/vllm serve "
    f"{MODEL} \\\n    «{ON} \\\n    »--kv-transfer-config '{JSON}'\n",
    "exec form": f'FROM vllm/vllm-openai:v0.21.0\nCMD ["--model", "{MODEL}", '
    f'«"{ON}", »"--kv-transfer-config", "{ESCAPED}"]\n',
    "shell form": "FROM python:3.12\nRUN pip install vllm==0.21.0\n"
    f"CMD vllm serve {MODEL} «{ON} »--kv-transfer-config '{JSON}'\n",
    "compose": f"{COMPOSE}    command: --model {MODEL} «{ON} »--kv-transfer-config '{JSON}'\n",
    "compose, first": f"{COMPOSE}    command: «{ON} »--kv-transfer-config '{JSON}' "
    f"--model {MODEL}\n",
    "compose, folded": f"{COMPOSE}    command: >\n      --model {MODEL}\n"
    f"      «{ON} »--kv-transfer-config '{JSON}'\n",
    "compose, quoted": f"{COMPOSE}    command: \"«{ON} »--kv-transfer-config '{ESCAPED}' "
    f'--model {MODEL}"\n',
    "vLLM's file": f"model: {MODEL}\nmax-model-len: 4096\n«{ON.removeprefix('--')}: true\n»"
    "kv-transfer-config:  # ours\n  kv_connector: OffloadingConnector\n  kv_role: kv_both\n",
    "vLLM's file with JSON": f"model: {MODEL}\nmax_model_len: 4096\n"
    f"«{ON.removeprefix('--')}: true\n»kv_transfer_config: '{JSON}'\n",
}
LMCACHE = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
SMALL = "meta-llama/Llama-3.1-8B-Instruct"
NEEDLESS = {
    "first": f"vllm serve {SMALL}« {ON}» --kv-transfer-config '{LMCACHE}'  # ours\n",
    "last": f"vllm serve {SMALL} --kv-transfer-config '{LMCACHE}'« {ON}»\n",
    "several lines": f"vllm serve {SMALL} \\\n«  {ON} \\\n»  --kv-transfer-config '{LMCACHE}'\n",
    "the last line": f"vllm serve {SMALL} \\\n  --kv-transfer-config '{LMCACHE}'« \\\n  {ON}»\n",
    "list": f"{POD}      args:\n        - --model={SMALL}\n«        - {ON}\n»"
    f"        - '--kv-transfer-config={LMCACHE}'\n",
    "flow list": f'{POD}      args: [--model, {SMALL}, «"{ON}", »--kv-transfer-config, '
    f"'{LMCACHE}']\n",
    "end of a flow list": f"{POD}      args: [--model, {SMALL}, --kv-transfer-config, '{LMCACHE}'"
    f"«, {ON}»]\n",
    "exec form": f'FROM vllm/vllm-openai:v0.21.0\nCMD ["--model", "{SMALL}", «"{ON}", »'
    f'"--kv-transfer-config", "{LMCACHE.replace(chr(34), chr(92) + chr(34))}"]\n',
}


def without(marked: str) -> str:
    return re.sub("«[^»]*»", "", marked)


def with_it(marked: str) -> str:
    return marked.replace("«", "").replace("»", "")


@pytest.mark.parametrize("marked", [*SHELL.values(), *OTHERS.values()], ids=[*SHELL, *OTHERS])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_missing_flag(marked: str, end: str) -> None:
    if end != "\n" and marked in SHELL.values():
        return  # a shell takes the additional character for a part of the last word
    before, after = without(marked).replace("\n", end), with_it(marked).replace("\n", end)
    assert "HMA013" in found(before)
    assert fixed(before) == after
    assert fixed(after) == after
    assert "HMA013" not in found(after)


@pytest.mark.parametrize("marked", NEEDLESS.values(), ids=NEEDLESS)
def test_the_needless_flag(marked: str) -> None:
    assert "HMA011" in found(with_it(marked))
    assert fixed(with_it(marked)) == without(marked)
    assert "HMA011" not in found(without(marked))


UNCERTAIN = {
    "shared, in quotes": f"A=\"--kv-transfer-config\"\nvllm serve {MODEL} $A '{JSON}'\n"
    f"vllm serve {SMALL} $A '{LMCACHE}'\n",
    # With the flag the second server would not start.
    "shared": f"A=--kv-transfer-config\nvllm serve {MODEL} $A '{JSON}'\n"
    f"vllm serve {SMALL} $A '{LMCACHE}'\n",
    "assignment": f"A=--kv-transfer-config='{JSON}'\nvllm serve {MODEL} $A\n",
    "anchor": f"{POD}      args:\n      - --model={MODEL}\n"
    f"      - &c --kv-transfer-config\n      - '{JSON}'\n",
    "in pieces": f"vllm serve {MODEL} --kv-transfer\"-config\" '{JSON}'\n",
    "escaped": f'{POD}      args: ["--model={MODEL}", "\\x2d-kv-transfer-config", \'{JSON}\']\n',
}


@pytest.mark.parametrize("text", UNCERTAIN.values(), ids=UNCERTAIN)
def test_no_edit_where_the_place_is_not_certain(text: str) -> None:
    assert "HMA013" in found(text)
    assert fixed(text) == text


def test_edits_that_hold_beside_one_that_does_not() -> None:
    server = f"vllm serve {MODEL} --kv-transfer-config '{JSON}'\n"
    text = UNCERTAIN["shared"] + server + server
    assert fixed(text) == UNCERTAIN["shared"] + server.replace("--kv", f"{ON} --kv", 1) * 2


def test_many_servers_are_not_read_once_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    server = f"vllm serve {MODEL} --kv-transfer-config '{JSON}'\n"
    readings = []
    read = read_source

    def counted(*arguments: Any) -> Any:
        readings.append(arguments[1])
        return read(*arguments)

    monkeypatch.setattr(lint_files, "read_source", counted)
    assert fixed(server * 20) == server.replace("--kv", f"{ON} --kv", 1) * 20
    assert len(readings) == 2
    readings.clear()
    shared = UNCERTAIN["shared"].replace("A=--kv-transfer-config", 'A="--kv-transfer-config"')
    assert fixed(shared + server * 20) == shared + server * 20
    assert len(readings) == 2


def test_a_flag_with_a_comment_behind_it_stays() -> None:
    text = f"{POD}      args:\n        - --model={SMALL}\n        - {ON}  # why\n"
    text += f"        - '--kv-transfer-config={LMCACHE}'\n"
    assert fixed(text) == text


_WORDS = st.lists(
    st.sampled_from(["--port 1", "--seed 3", "--enforce-eager", '--served-model-name "a b"']),
    unique=True,
)
_GLUE = st.sampled_from([" ", " \\\n  ", "   ", " \\\n"])


@settings(max_examples=60, deadline=None)
@given(_WORDS, _WORDS, st.lists(_GLUE, min_size=4, max_size=4), st.booleans())
def test_only_the_flag_comes_to_a_command(
    before: list[str], behind: list[str], glue: list[str], joined: bool
) -> None:
    behind = [word for word in behind if word not in before]
    connector = f"--kv-transfer-config{'=' if joined else ' '}'{JSON}'"
    words = [*before, connector, *behind]
    text = f"# é\nvllm serve {MODEL}"
    text += "".join(glue[n % len(glue)] + word for n, word in enumerate(words)) + "\n# end\n"
    once = fixed(text)
    assert once.split() == [*_with_flag(text)]
    assert fixed(once) == once
    assert found(once) == found(text) - {"HMA013"}


def _with_flag(text: str) -> list[str]:
    """The words of the text with the flag in front of the connector."""
    words = text.split()
    at = next(n for n, word in enumerate(words) if word.startswith("--kv-transfer-config"))
    continued = ["\\"] if re.search(r"\\\n[ ]*--kv-transfer-config", text) else []
    return [*words[:at], ON, *continued, *words[at:]]


_ITEMS = st.lists(
    st.sampled_from(
        ["--port=1", "--seed\n- '3'", "# ours", "--enforce-eager  # é", "", "'--seed=1'"]
    ),
    unique=True,
)


@settings(max_examples=60, deadline=None)
@given(_ITEMS, _ITEMS, st.sampled_from(["", "'", '"']), st.sampled_from(["  ", "        "]))
def test_only_one_line_comes_to_a_list(
    before: list[str], behind: list[str], quote: str, indent: str
) -> None:
    behind = [item for item in behind if item not in before and "seed" not in item]
    items = [f"--model={MODEL}", *before]
    number = sum(len(item.split("\n")) for item in items)
    items += [f"{quote}--kv-transfer-config{quote}\n- '{JSON}'", *behind]
    lines = [line for item in items for line in _lines(item)]
    text = f"{POD}      args:\n" + "".join(f"      {indent}{line}\n" for line in lines)
    once = fixed(text)
    added = f"      {indent}- {ON}"
    wanted = text.split("\n")
    wanted.insert(POD.count("\n") + 1 + number, added)
    assert once.split("\n") == wanted
    assert fixed(once) == once
    assert found(once) == found(text) - {"HMA013"}


def _lines(item: str) -> list[str]:
    """The lines of an item of a list; a comment and nothing at all are none."""
    if not item or item.startswith("#"):
        return [item]
    first, *rest = item.split("\n")
    return [f"- {first}", *rest]
