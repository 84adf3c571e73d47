"""Secrets that must not be printed, and words that must not be touched."""

import pytest

from hmactl.report.redact import is_secret_name, redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://user:hunter2@cache:6379/0", "redis://user:***@cache:6379/0"),
        ("redis://:hunter2@cache:6379", "redis://:***@cache:6379"),
        ("--api-key=abc123", "--api-key=***"),
        ('{"aws_secret_access_key": "abc/123"}', '{"aws_secret_access_key": "***"}'),
        ("HF_TOKEN=hf_abcdefghijklmnopqrstu", "HF_TOKEN=***"),
        ("token hf_abcdefghijklmnopqrstu", "token ***"),
        ("api_key: abc", "api_key: ***"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("right\u202eleft", "right\\u202eleft"),
        ("back\x08", "back\\x08"),
    ],
)
def test_hidden(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "max-num-batched-tokens: 8192",
        "two\nlines\tand a tab, and ümläut 漢字",
        "tokens=120446",
        "tokenizer-mode: auto",
        "http://localhost:5555/path",
        "lmcache.mp.host: tcp://localhost",
        "PYTHONHASHSEED=0",
    ],
)
def test_left_alone(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "name", ["--api-key", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "db.password", "TOKEN_IDENTITY"]
)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("--max-num-batched-tokens", "--tokenizer", "LMCACHE_CHUNK_SIZE", "eos_token_id"),
        *("--long-prefill-token-threshold", "VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD"),
        "--return-tokens-as-token-ids",
    ],
)
def test_other_names(name: str) -> None:
    assert not is_secret_name(name)
