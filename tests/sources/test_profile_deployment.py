"""What profiles mean: the deployment with the origin of every setting."""

from hmactl.deployment.deployment import UNLIMITED, Connector, LMCacheServer, Target
from hmactl.deployment.policy import HmaPolicy
from hmactl.deployment.setting import DEFAULT, Origin, Setting
from hmactl.sources.document import Document
from hmactl.sources.profile import read_profiles

_EVERYTHING = """\
name: chat
model: google/gemma-3-4b-it
vllm:
  max_model_len: 75000
  gpu-memory-utilization: 0.18
  enforce-eager: true
  hf_overrides.text_config: {a_b: 1}
  served-model-name: [a, "b"]
connector:
  name: MultiConnector
  module_path: my_package.my_module
  extra_config: {tokens: 5}
  options: {kv_load_failure_policy: recompute}
  children:
    - OffloadingConnector
    - role: kv_producer
      name: NixlConnector
hma: keep
lmcache:
  chunk_size: 256
  extra_config: {a: null}
lmcache_server:
  l1_size_gb: 60
  start: true
env:
  PYTHONHASHSEED: "0"
  TIME: 1:30
  DAY: 2024-01-01
target:
  gpu: H100-80GB
  gpus: 2
  host_memory: 128 GiB
  memory_limit: 120Gi
  shm: 16 GiB
  disk: 2 TiB
  memlock: unlimited
  kv_cache_memory: 1000
  vllm: "0.32.0"
  lmcache: "0.5.6"
"""


def _one(text: str, path: str = "dir/chat-server.yaml") -> Document:
    (document,) = read_profiles(path, text)
    return document


def _at(line: int, column: int) -> Origin:
    return Origin("dir/chat-server.yaml", line, column)


def test_every_setting_and_where_it_stands() -> None:
    document = _one(_EVERYTHING)
    deployment = document.deployment
    assert document.findings == ()
    assert deployment is not None
    assert deployment.source == "dir/chat-server.yaml"
    assert deployment.name == "chat"
    assert deployment.model == Setting("model", "google/gemma-3-4b-it", _at(2, 1))
    assert deployment.vllm == (
        Setting("max-model-len", 75000, _at(4, 3)),
        Setting("gpu-memory-utilization", 0.18, _at(5, 3)),
        Setting("enforce-eager", True, _at(6, 3)),
        Setting("hf-overrides.text_config", {"a_b": 1}, _at(7, 3)),
        Setting("served-model-name", ["a", "b"], _at(8, 3)),
    )
    assert deployment.connector == Connector(
        name="MultiConnector",
        origin=_at(10, 3),
        role="kv_both",
        module_path="my_package.my_module",
        extra_config={"tokens": 5},
        options={"kv_load_failure_policy": "recompute"},
        children=(
            Connector("OffloadingConnector", _at(15, 7)),
            Connector("NixlConnector", _at(17, 7), role="kv_producer"),
        ),
    )
    assert (deployment.hma, deployment.hma_origin) == (HmaPolicy.KEEP, _at(18, 1))
    assert deployment.lmcache == (
        Setting("chunk_size", 256, _at(20, 3)),
        Setting("extra_config", {"a": None}, _at(21, 3)),
    )
    assert deployment.lmcache_server == LMCacheServer(
        _at(22, 1), start=True, options=(Setting("l1-size-gb", 60, _at(23, 3)),)
    )
    assert deployment.env == (
        Setting("PYTHONHASHSEED", "0", _at(26, 3)),
        Setting("TIME", "1:30", _at(27, 3)),
        Setting("DAY", "2024-01-01", _at(28, 3)),
    )
    assert deployment.target == Target(
        gpu="H100-80GB",
        gpu_origin=_at(30, 3),
        gpus=2,
        host_memory=137438953472,
        memory_limit=120 * 2**30,
        shm=16 * 2**30,
        disk=2 * 2**40,
        memlock=UNLIMITED,
        kv_cache_memory=1000,
        vllm="0.32.0",
        lmcache="0.5.6",
    )


def test_only_the_model_is_required() -> None:
    deployment = _one("model: ./tiny\n").deployment
    assert deployment is not None
    assert deployment.name == "chat-server"
    assert deployment.vllm == deployment.lmcache == deployment.env == ()
    assert deployment.connector is None
    assert deployment.lmcache_server is None
    assert (deployment.hma, deployment.hma_origin) == (HmaPolicy.AUTO, DEFAULT)
    assert deployment.target == Target()


def test_a_connector_by_name_alone() -> None:
    deployment = _one("model: a\nconnector: LMCacheConnectorV1\n").deployment
    assert deployment is not None
    assert deployment.connector == Connector("LMCacheConnectorV1", _at(2, 1))


def test_a_transfer_config_without_connector_stays_a_vllm_setting() -> None:
    deployment = _one("model: a\nvllm:\n  kv_transfer_config: {kv_role: kv_both}\n").deployment
    assert deployment is not None
    assert deployment.connector is None
    assert deployment.vllm == (Setting("kv-transfer-config", {"kv_role": "kv_both"}, _at(3, 3)),)


def test_names_of_several_documents() -> None:
    text = "---\n---\nmodel: a\n---\nname: second\nmodel: b\n---\n# none\n---\nmodel: c\n"
    documents = read_profiles("dir/chat-server.yaml", text)
    assert [document.index for document in documents] == [0, 1, 2]
    assert [d.deployment.name for d in documents if d.deployment] == [
        "chat-server",
        "second",
        "chat-server#3",
    ]
    last = documents[2].deployment
    assert last is not None
    assert last.model.origin == _at(10, 1)


def test_a_profile_on_standard_input_is_called_stdin() -> None:
    deployment = _one("model: a\n", path="-").deployment
    assert deployment is not None
    assert (deployment.source, deployment.name) == ("-", "stdin")


def test_a_broken_document_leaves_those_before_it() -> None:
    first, second = read_profiles("a.yaml", "model: a\n---\nmodel: b\nmodel: c\nvllm: [\n")
    assert first.deployment is not None
    assert first.findings == ()
    assert second.deployment is None
    assert [finding.id for finding in second.findings] == ["PRO003", "PRO002"]


def test_bad_settings_are_left_out_and_the_others_stay() -> None:
    document = _one(
        "model: a\n"
        "name: [b]\n"
        "vllm:\n"
        "  seed:\n"
        "  max-model-len: 5\n"
        "  max_model_len: 6\n"
        "  hf-overrides: {a: .nan, b: 1}\n"
        "  disable-hybrid-kv-cache-manager: true\n"
        "  --port: 1\n"
        "connector:\n"
        "  name: NixlConnector\n"
        "  role: producer\n"
        "  extra_config: {a: !x 1, b: 2}\n"
        "hma: off\n"
        "lmcache: {chunk-size: 1, local_cpu: true}\n"
        "env: {A: [1], B: b, ON: c}\n"
        "target: {gpus: 0, gpu: L40S, vllm: 0.30}\n"
        "nonsense: 1\n"
    )
    deployment = document.deployment
    assert deployment is not None
    assert len(document.findings) == 15
    assert deployment.name == "chat-server"
    assert [(s.name, s.value) for s in deployment.vllm] == [("max-model-len", 6)]
    assert deployment.connector == Connector("NixlConnector", _at(11, 3), extra_config={"b": 2})
    assert (deployment.hma, deployment.hma_origin) == (HmaPolicy.AUTO, DEFAULT)
    assert [s.name for s in deployment.lmcache] == ["local_cpu"]
    assert [s.name for s in deployment.env] == ["B"]
    assert deployment.target == Target(gpu="L40S", gpu_origin=_at(17, 19))


def test_a_connector_that_lacks_a_child_is_left_out_whole() -> None:
    document = _one(
        "model: a\nconnector:\n  name: MultiConnector\n  children: [A, {role: kv_both}]\n"
    )
    assert document.deployment is not None
    assert document.deployment.connector is None


def test_without_a_usable_model_there_is_no_deployment_but_all_findings() -> None:
    document = _one("model: 3\nhma: off\nenv: {A: yes}\n")
    assert document.deployment is None
    assert [finding.origin.line for finding in document.findings] == [1, 2, 3]


def test_a_value_by_alias_is_complained_about_where_it_stands() -> None:
    document = _one("model: &m a\nname: *m\ntarget:\n  gpus: &n none\n  host_memory: *n\n")
    assert document.deployment is not None
    assert document.deployment.name == "a"
    assert [(f.origin.line, f.origin.column) for f in document.findings] == [(4, 9), (5, 16)]
