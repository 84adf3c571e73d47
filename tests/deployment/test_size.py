import pytest

from hmactl.deployment.size import format_gib, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (0, 0),
        (1024, 1024),
        ("1024", 1024),
        ("1024B", 1024),
        ("128 GiB", 137_438_953_472),
        ("40GiB", 42_949_672_960),
        ("512 MB", 512_000_000),
        ("1.5 TiB", 1_649_267_441_664),
        ("1.5tib", 1_649_267_441_664),
        ("2G", 2_000_000_000),
        ("2Gi", 2_147_483_648),
        ("2 gi", 2_147_483_648),
        ("1 kB", 1000),
        ("1 KiB", 1024),
        ("3M", 3_000_000),
        ("3Mi", 3_145_728),
        ("1 PB", 10**15),
        ("1 PiB", 2**50),
        ("7 EiB", 7 * 2**60),
        ("  8  GiB  ", 8_589_934_592),
        ("0.3 KiB", 307),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a number and a unit"),
        ("GiB", "a number and a unit"),
        ("-1 GiB", "a number and a unit"),
        ("1 GiB 2", "a number and a unit"),
        ("1,5 GiB", "a number and a unit"),
        ("1e3", "a number and a unit"),
        ("0x10", "a number and a unit"),
        ("٣ GiB", "a number and a unit"),
        ("1" * 65, "a number and a unit"),
        ("12 Gbit", "`Gbit` is not a unit"),
        ("12 gigs", "`gigs` is not a unit"),
        ("1.5", "whole number of bytes"),
        (-1, "cannot be negative"),
        (2**63, "larger than 8 EiB"),
        ("8 EiB", "larger than 8 EiB"),
        (True, "a number of bytes or text"),
    ],
)
def test_what_is_no_size(text: str | int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0.00 GiB"),
        (2**30, "1.00 GiB"),
        (5_862_630_195, "5.46 GiB"),
        (137_438_953_472, "128.00 GiB"),
    ],
)
def test_gib(size: int, text: str) -> None:
    assert format_gib(size) == text
