"""The NVIDIA GPU of this machine, as its driver describes it."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

from hmactl.catalogue.gpus import Gpu, UnknownGpuError, find_gpu

_DRIVER = Path("/proc/driver/nvidia/gpus")
_QUERY = Path(__file__).with_name("device_query.py")
_SECONDS = 30


class _SilentDriverError(Exception):
    """The driver lists a GPU and says no more of it."""


@cache
def local_gpu(driver: Path = _DRIVER) -> Gpu | None:
    """This machine's first GPU; None where there is no NVIDIA driver.

    What the driver says wins over the catalogue, which stands in where it can only be listed, as
    in a container without access to it. Raises UnknownGpuError where that does not help either.
    """
    listed = _listed(driver)
    if listed is None:
        return None
    try:
        return _described()
    except _SilentDriverError as error:
        try:
            return find_gpu(listed)
        except UnknownGpuError:
            raise UnknownGpuError(
                f"this machine's GPU, `{listed}`, is not in the catalogue, and its driver cannot "
                f"be asked ({error})"
            ) from None


def _described() -> Gpu:
    try:
        done = subprocess.run(  # noqa: S603 - an argv of our own, no shell
            [sys.executable, "-I", str(_QUERY)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise _SilentDriverError(done.stderr.strip() or f"exit status {done.returncode}")
        device = json.loads(done.stdout)
        return Gpu(
            id=device["name"],
            name=device["name"],
            capability=tuple(device["capability"]),
            memory=device["memory"],
            usable_memory=device["usable_memory"],
            sm_count=device["sm_count"],
            shared_memory=device["shared_memory"],
            aliases=(),
            source="the driver of this machine",
            of_this_machine=True,
        )
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        raise _SilentDriverError(f"{type(error).__name__}: {error}") from error


def _listed(driver: Path) -> str | None:
    """The driver's own list: a directory for each GPU, with its name after ``Model:``."""
    for information in sorted(driver.glob("*/information")):
        try:
            lines = information.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == "Model" and value.strip():
                return value.strip()
    return None
