"""Shell scripts: any text is read in time, and words come out as bash itself makes them."""

import shlex
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmactl.deployment.form import Form
from hmactl.sources.read import read_source

SECONDS = 20  # on a machine that is busy with other things

HOSTILE = {
    "words that double": 'A=(vllm serve)\nfor i in {1..32}; do A+=("${A[@]}"); done\n${A[@]}\n',
    "text that doubles": "X='vllm serve '\nfor i in {1..32}; do X=\"$X$X\"; done\n$X\n",
    "loops in loops": "for a in {1..32}; do for b in {1..32}; do for c in {1..32}; do for d in "
    "{1..32}; do vllm serve m; done; done; done; done\n",
    "a function that calls itself": "f() { f; f; vllm serve m; }\nf\n",
    "eval of itself": 'X=\'eval "$X"; eval "$X"; vllm serve m\'\neval "$X"\n',
    "many alternatives": "".join(
        f'if [ "$V{n}" = y ]; then export A{n}=1; fi\n' for n in range(200)
    )
    + "vllm serve m\n",
    "a megabyte of alternatives": "vllm serve m\n"
    + "if [ $A = 1 ]; then export B=$B$B; fi\n" * 25_000,
    "deep nesting": "if true; then " * 2000 + "vllm serve m" + "; fi" * 2000 + "\n",
    "deep substitution": "X=" + "$(echo " * 2000 + "vllm serve" + ")" * 2000 + "\nvllm serve m\n",
    "deep expansion": "X=" + "${A:-" * 2000 + "m" + "}" * 2000 + "\nvllm serve $X\n",
    "shells in shells": "sh -c " * 500 + "'vllm serve m'\n",
    "a long pattern": "X=" + "a" * 3000 + "\nvllm serve ${X%%" + "*a" * 500 + "b}\n",
    "a long line": "vllm serve m " + "--served-model-name a " * 20_000 + "\n",
    "never closed": 'vllm serve m --x "abc\n' * 50,
}


@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_scripts_are_read_in_time(script: str) -> None:
    start = time.monotonic()
    read_source("x.sh", script, Form.SHELL)
    assert time.monotonic() - start < SECONDS


FRAGMENTS = st.sampled_from(
    [
        *("vllm serve m", "export A=1", "A=(1 2)", "${A[@]}", "$(", ")", "`", '"', "'", "\\\n"),
        *("if [ -z $X ]; then", "fi", "for i in 1 2; do", "done", "case $1 in", "a)", ";;", "esac"),
        *(
            "f() {",
            "}",
            "<<EOF",
            "EOF",
            "\n",
            ";",
            "&&",
            "||",
            "|",
            "&",
            "${X:-",
            "${",
            "$((",
            "))",
        ),
        *(
            "docker run -e A=b vllm/vllm-openai:v0.12.0 --model m",
            "bash -c '",
            "exec",
            "eval",
            "\t",
        ),
        *("--flag=1", "#", "{1..3}", "\x00", "é", "\r\n", "[[", "]]", "set --", "shift", "read X"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(FRAGMENTS, max_size=30).map(" ".join) | st.text(max_size=200))
def test_no_script_raises(script: str) -> None:
    read_source("x.sh", f"vllm serve m\n{script}", Form.SHELL)


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=12
)


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=5))
def test_quoted_words_come_out_as_they_were(values: list[str]) -> None:
    names = " ".join(shlex.quote(value) for value in values)
    script = f"vllm serve m --served-model-name {names}\n"
    (document,) = read_source("x.sh", script, Form.SHELL)
    assert document.deployment is not None
    if any(value.startswith("-") for value in values):
        return
    (setting,) = document.deployment.vllm
    assert [str(value) for value in setting.value] == values  # type: ignore[union-attr]


EXPANSIONS = [
    'A=1; echo "x${A}y"',
    "A='a b'; echo $A \"$A\"",
    "A=(a 'b c'); echo \"${A[@]}\" ${A[1]} ${#A[@]}",
    'A=(a b); A+=(c); echo "${A[*]}"',
    'A=; echo "${A:-d}" "${A-d}" ${A:+e} "${B=f}" $B',
    "A=path/to/file.txt; echo ${A##*/} ${A%.*} ${A#*/} ${A%%/*} ${A/to/TO} ${A:5:2} ${A^^}",
    "A=3; echo $((A * 2 + 1)) $(( (A - 1) / 2 )) $((A % 2 == 1))",
    "echo {1..4} $(seq 2 4) $(basename /a/b) $(dirname /a/b)",
    'f() { echo "$1-$2-$#"; shift; echo "$@"; }; f a \'b c\' d',
    "for i in a b; do echo $i; done",
    "for ((i = 0; i < 3; i++)); do echo $i; done",
    'if [ -n "$A" ] || [[ abc == a* ]]; then echo yes; else echo no; fi',
    "case abc in a*) echo first;; *) echo other;; esac",
    'A=$(cat <<EOF\n{"a": "$HOME_OF_NOBODY"}\nEOF\n); A=x; echo "$A"',
    "read -r -d '' A <<'EOF'\n{\"k\": 1}\nEOF\necho \"$A\"",
    "echo $'a\\tb\\x41' 'it'\\''s' a\\ b \"\\$x \\\"q\\\"\"",
    'set -- a b c; shift; echo $1 $# "$@"',
    "A=1; (A=2; echo $A); echo $A",
    "A=x eval 'echo $A'; true && echo and; false || echo or",
    'X=1; unset X; echo "${X-gone}"',
]


@pytest.mark.parametrize("script", EXPANSIONS)
def test_words_are_those_that_bash_makes(script: str) -> None:
    """Each `echo` becomes a server whose names are its words, and bash prints them itself."""
    printing = "words() { printf '%s\\0' \"$@\"; }\n" + script.replace("echo ", "words ")
    for kept in ("$(words ",):
        printing = printing.replace(kept, "$(echo ")
    done = subprocess.run(
        ["bash", "-c", printing],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
    )
    expected = done.stdout.split("\0")[:-1]
    serving = script.replace("echo ", "vllm serve m --served-model-name ")
    serving = serving.replace("$(vllm serve m --served-model-name ", "$(echo ")
    found = [
        str(name)
        for document in read_source("x.sh", serving + "\n", Form.SHELL)
        if document.deployment is not None
        for setting in document.deployment.vllm
        for name in (setting.value if isinstance(setting.value, list) else [setting.value])
    ]
    assert found == expected
