"""Manifests beyond what the cases show: expansion, quantities, supplied variables, any YAML."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hmactl.deployment.places import places_of_file
from hmactl.deployment.setting import COMMAND_LINE, Area, Origin
from hmactl.sources.given import Given
from hmactl.sources.helm.reader import read_helm
from hmactl.sources.helm.recognise import looks_like_helm
from hmactl.sources.kubernetes.expansion import expanded
from hmactl.sources.kubernetes.quantity import quantity
from hmactl.sources.kubernetes.reader import read_kubernetes
from hmactl.sources.kubernetes.recognise import looks_like_kubernetes
from hmactl.sources.kubernetes.template import chart_template
from hmactl.sources.process.word import Word
from hmactl.sources.read import read_source
from hmactl.sources.shell.value import Piece, Value, from_word, known_text
from hmactl.sources.yaml_nodes import read_documents

POD = """apiVersion: v1
kind: {kind}
metadata: {{name: p}}
spec:
  containers:
    - name: c
      image: {image}
      command: {command}
      env: {env}
"""


def _expand(text: str) -> str | None:
    def resolve(name: str, written: Piece) -> Value:
        values = {"A": "1", "B": "$(A)", "EMPTY": ""}
        return from_word(Word(values[name], COMMAND_LINE)) if name in values else (written,)

    word = Word(text, Origin("x", 1, 1), places=places_of_file("x", text))
    return known_text(expanded(from_word(word), resolve))


# As the tests of k8s.io/kubernetes/third_party/forked/golang/expansion show it.
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("$(A)", "1"),
        ("x-$(A)-$(A)", "x-1-1"),
        ("$(B)", "$(A)"),
        ("$(EMPTY)", ""),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$(C)", "$(C)"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("a$", "a$"),
        ("$$", "$"),
        ("$(A) $(lower case)", "1 $(lower case)"),
    ],
)
def test_expansion(text: str, found: str) -> None:
    assert _expand(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("64Gi", 64 << 30),
        ("64G", 64 * 10**9),
        ("1.5Gi", 3 << 29),
        ("128974848", 128974848),
        ("129e6", 129 * 10**6),
        ("1E", 10**18),
        ("1500m", 2),
        ("64gb", None),
        ("-1", None),
        ("9999E", None),
        ("{{ x }}", None),
        ("", None),
    ],
)
def test_quantity(text: str, found: int | None) -> None:
    assert quantity(text) == found


def _pod(
    command: str = "[vllm, serve, m]", env: str = "[]", kind: str = "Pod", image: str = "a/b:1"
) -> str:
    return POD.format(command=command, env=env, kind=kind, image=image)


def test_supplied_variables_take_the_place_of_what_is_not_known() -> None:
    text = _pod(
        "[vllm, serve, $(MODEL), --port, '${PORT}']",
        "[{name: MODEL, valueFrom: {secretKeyRef: {name: s, key: k}}}]",
    )
    supplied = {"MODEL": Word("Qwen/Qwen3-8B", COMMAND_LINE), "PORT": Word("80", COMMAND_LINE)}
    (without,) = read_source("x", text)
    (document,) = read_source("x", text, given=Given(supplied))
    assert without.deployment is not None
    assert without.deployment.model.value is None
    assert without.deployment.is_unknown(Area.VLLM, "port")
    assert document.deployment is not None
    assert document.deployment.model.value == "Qwen/Qwen3-8B"
    assert document.deployment.vllm_setting("port") is not None
    assert not document.deployment.unknown


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (_pod("[vllm, serve, m, --port, 80]"), {"K8S002"}),
        (_pod("[vllm, serve, m, --port, '80']"), set()),
        (_pod(env="[{name: A, value: 1}]"), {"K8S002"}),
        (_pod(env="[{name: A, value: '1'}, {name: B, value: }]"), set()),
        (_pod("[vllm, serve, $(MODEL)]"), {"K8S003"}),
        (_pod("[vllm, serve, $(MODEL)]", "[{name: MODEL, value: m}]"), set()),
        (_pod("[vllm, serve, m, --host, $(POD_SERVICE_HOST)]"), set()),
        (_pod("[vllm, serve, m, --host, $(A)]", kind="LeaderWorkerSet"), set()),
        (_pod("[sh, -c, 'vllm serve m --port $(PORT)']"), set()),
        (_pod(env="[{name: A, value: $(B)}, {name: B, value: b}]"), {"K8S003"}),
        (_pod(env="[{name: B, value: b}, {name: A, value: $(B)}]"), set()),
        (_pod("[vllm, serve, $MODEL]", "[{name: MODEL, value: m}]"), {"K8S005"}),
        (_pod("[vllm, serve, $MODEL]"), set()),
        (_pod("[sh, -c, 'vllm serve $MODEL']", "[{name: MODEL, value: m}]"), set()),
    ],
)
def test_what_the_reader_finds(text: str, ids: set[str]) -> None:
    findings = {finding.id for document in read_source("x", text) for finding in document.findings}
    assert findings == ids


def test_a_secret_is_not_in_what_is_read() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {KEY: hidden-value}\n"
    pod = _pod(
        "[vllm, serve, m, --api-key, $(KEY)]",
        "[{name: KEY, valueFrom: {secretKeyRef: {name: s, key: KEY}}}]",
    )
    found = read_source("x", f"{secret}---\n{pod}      envFrom: [{{secretRef: {{name: s}}}}]\n")
    assert found[0].deployment is not None
    assert "hidden-value" not in repr(found)


def test_a_config_map_of_another_namespace_is_another() -> None:
    maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: other}\ndata: {A: m}\n"
    pod = _pod(env="[{name: A, valueFrom: {configMapKeyRef: {name: c, key: A}}}]")
    here = pod.replace("{name: p}", "{name: p, namespace: here}")
    for text, known in ((f"{maps}---\n{pod}", True), (f"{maps}---\n{here}", False)):
        (document,) = read_source("x", text)
        assert document.deployment is not None
        assert document.deployment.is_unknown(Area.ENV, "A") is not known


@pytest.mark.parametrize(
    ("text", "kubernetes", "helm"),
    [
        ("apiVersion: v1\nkind: Pod", True, False),
        ("apiVersion: v1", False, False),
        ("kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1", False, False),
        ("servingEngineSpec: {modelSpec: []}", False, True),
        ("modelArtifacts: {uri: hf://a/b}\ndecode: {create: true}", False, True),
        ("modelArtifacts: {uri: hf://a/b}", False, False),
        ("model: m\nvllm: {}", False, False),
        ("[]", False, False),
    ],
)
def test_form(text: str, kubernetes: bool, helm: bool) -> None:
    root = read_documents("x", text, of_others=True)[0].root
    assert root is not None
    assert (looks_like_kubernetes(root), looks_like_helm(root)) == (kubernetes, helm)


def test_only_templates_of_manifests_are_called_so() -> None:
    assert chart_template("x", "kind: Pod\nx: {{ .Values.a }}") is not None
    assert chart_template("x", "kind: Pod\n# {{ .Values.a }}\n") is None
    assert chart_template("x", "kind: Pod\nsummary: '{{ $labels.pod }}'") is None
    assert chart_template("x", "a: '{{ .Release.Name }}'") is None


KEYS = st.sampled_from(
    [
        *("apiVersion", "kind", "metadata", "name", "namespace", "items", "spec", "template"),
        *("containers", "initContainers", "command", "args", "env", "envFrom", "value"),
        *("valueFrom", "configMapKeyRef", "secretKeyRef", "configMapRef", "key", "data"),
        *("volumes", "volumeMounts", "mountPath", "subPath", "configMap", "emptyDir", "medium"),
        *("sizeLimit", "resources", "limits", "memory", "nvidia.com/gpu", "image", "predictor"),
        *("model", "runtime", "storageUri", "modelFormat", "uri", "serveConfigV2", "prefill"),
        *("servingEngineSpec", "modelSpec", "modelURL", "vllmConfig", "extraArgs", "raySpec"),
        *("lmcacheConfig", "enabled", "enablePD", "cpuOffloadingBufferSize", "cacheserverSpec"),
        *("modelArtifacts", "decode", "modelCommand", "parallelism", "tensor", "data", "routing"),
        *("tag", "repository", "affinity", "nodeSelector", "configs", "hostIPC", "projected"),
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**9),
    st.floats(allow_nan=False),
    st.sampled_from(
        [
            *("Pod", "List", "ConfigMap", "Secret", "InferenceService", "LLMInferenceService"),
            *("RayService", "LeaderWorkerSet", "main", "vllm", "vllmServe", "serve", "sh", "-c"),
            *("$(A)", "$$(A", "${A}", "{{ .Values.x }}", "hf://a/b", "/mnt/models", "Memory"),
            *("vllm serve m", "1Gi", "/dev/shm", "A", "VLLM_ADDITIONAL_ARGS", "--port 'x"),
            "applications: [{import_path: 'x:build_openai_app', args: {llm_configs: [{}]}}]",
        ]
    ),
    st.text(max_size=8),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, min_size=1, max_size=5)
    ),
    max_leaves=40,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, TREES, min_size=1, max_size=6))
def test_no_manifest_and_no_values_raise(tree: dict[str, Any]) -> None:
    text = yaml.safe_dump({"apiVersion": "v1", **tree}, allow_unicode=True)
    read_kubernetes("x", text, Given())
    read_helm("x", text, Given())


@settings(max_examples=80, deadline=None)
@given(st.lists(st.dictionaries(KEYS, TREES, max_size=4), max_size=3), KEYS)
def test_no_container_raises(containers: list[Any], kind: str) -> None:
    kinds = {"model": "InferenceService", "prefill": "LLMInferenceService"}
    spec = {"containers": containers, "template": {"containers": containers}, "predictor": {}}
    pod = {"apiVersion": "v1", "kind": kinds.get(kind, "Pod"), "spec": spec}
    read_source("x", yaml.safe_dump(pod, allow_unicode=True))
    values = {"modelArtifacts": {"uri": "hf://a/b"}, "decode": {"containers": containers}}
    read_source("x", yaml.safe_dump(values, allow_unicode=True))
    models = {"servingEngineSpec": {"modelSpec": containers}}
    read_source("x", yaml.safe_dump(models, allow_unicode=True))


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=80))
def test_no_text_raises(text: str) -> None:
    read_kubernetes("x", text, Given())
    read_helm("x", text, Given())
    chart_template("x", text)


def test_a_script_that_starts_itself_comes_to_an_end() -> None:
    config = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\n"
        "data: {a.sh: 'bash /s/a.sh; /s/b.sh; vllm serve a', b.sh: '/s/a.sh; vllm serve b'}\n"
    )
    mount = (
        "      volumeMounts: [{name: v, mountPath: /s}]\n"
        "  volumes: [{name: v, configMap: {name: s}}]\n"
    )
    for command in ("[bash, /s/a.sh]", "[/s/a.sh]", "[sh, -c, 'exec /s/a.sh']"):
        found = read_source("x", f"{config}---\n{_pod(command)}{mount}")
        models = [d.deployment.model.value for d in found if d.deployment is not None]
        assert set(models) == {"a", "b"}


SERVER_AND_ENGINE = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: server
      image: lmcache/standalone:v0.5.2
      command: [lmcache, server, --l1-size-gb, "60"]
      resources: {limits: {memory: 100Gi}}
    - name: engine
      image: lmcache/vllm-openai:v0.5.3
      args: [m, --kv-transfer-config, '{"kv_connector":"LMCacheMPConnector"}']
      resources: {limits: {memory: 32Gi}}
"""
BOTH_IN_ONE = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: both
      image: lmcache/vllm-openai:v0.5.3
      command: [sh, -c]
      args:
        - |
          lmcache server --l1-size-gb 60 &
          vllm serve m --kv-transfer-config '{"kv_connector":"LMCacheMPConnector"}'
      resources: {limits: {memory: 32Gi}}
"""


@pytest.mark.parametrize(
    ("text", "limit", "release"), [(SERVER_AND_ENGINE, 100, "0.5.2"), (BOTH_IN_ONE, 32, "0.5.3")]
)
def test_the_server_has_the_memory_of_its_own_container(
    text: str, limit: int, release: str
) -> None:
    (document,) = read_source("x", text)
    assert document.deployment is not None
    assert document.deployment.target.memory_limit == 32 << 30
    assert document.deployment.server_memory_bound == ("the container", limit << 30)
    assert document.deployment.target.lmcache_server_version == release
