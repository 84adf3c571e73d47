"""What a form says beside the command: files, volumes, probes, limits, names."""

from pathlib import Path
from typing import Any

import yaml
from rendering_back import files, launches, rendered

from hmactl.deployment.deployment import Deployment
from hmactl.deployment.form import Form
from hmactl.launch.render.compose import compose_notes
from hmactl.launch.render.forms import FORMATS, rendering_form
from hmactl.launch.render.kubernetes import kubernetes_notes, render_kubernetes
from hmactl.launch.render.paths import look_from
from hmactl.launch.render.plan import Surroundings, plan_rendering
from hmactl.launch.render.systemd import render_systemd
from hmactl.sources.profile import read_profiles
from hmactl.sources.read import read_source

MP = "connector: {name: LMCacheMPConnector, extra_config: {lmcache.mp.host: tcp://%s}}\n"
SERVER = "lmcache_server: {start: true, l1-size-gb: 1, eviction-policy: LRU}\n"
MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: lm}
data:
  lm.yaml: |
    chunk_size: 256
    note: costs $5
  secret.yaml: "remote_url: redis://u:pw123@h:1"
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  volumes: [{name: lm, configMap: {name: lm}}]
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.32.0
      args: [org/model]
      env:
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}
        - {name: LMCACHE_CONFIG_FILE, value: /etc/lm/@KEY@}
      volumeMounts: [{name: lm, mountPath: /etc/lm}]
"""


def profile(text: str) -> Deployment:
    (document,) = read_profiles("p.yaml", text)
    assert document.deployment is not None, document.findings
    return document.deployment


def manifest(file: str) -> Deployment:
    (document,) = read_source("m", MANIFEST.replace("@KEY@", file), Form.KUBERNETES)
    assert document.deployment is not None
    return document.deployment


def compose(deployment: Deployment) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(files(deployment, "compose")[0].text)
    return loaded


def kubernetes(deployment: Deployment) -> dict[str, dict[str, Any]]:
    documents = yaml.safe_load_all(files(deployment, "kubernetes")[0].text)
    return {document["kind"]: document for document in documents}


def engine(deployment: Deployment) -> dict[str, Any]:
    container: dict[str, Any]
    (container,) = pod(deployment)["containers"]
    return container


def pod(deployment: Deployment) -> dict[str, Any]:
    found: dict[str, Any] = kubernetes(deployment)["Deployment"]["spec"]["template"]["spec"]
    return found


def test_a_field_of_the_pod_stays_one_and_a_secret_is_in_the_renderings_own() -> None:
    env = {one["name"]: one for one in engine(manifest("lm.yaml"))["env"]}
    assert env["POD_IP"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert env["HF_TOKEN"]["valueFrom"]["secretKeyRef"] == {"name": "p-secrets", "key": "HF_TOKEN"}
    notes = "\n".join(kubernetes_notes(rendered(manifest("lm.yaml"))))
    assert "secret generic p-secrets --from-literal=HF_TOKEN=...\n" in notes
    service = compose(manifest("lm.yaml"))["services"]["p"]
    assert service["environment"]["POD_IP"] == "${POD_IP:?}"


def test_files_of_the_source_go_with_it() -> None:
    deployment = manifest("lm.yaml")
    assert kubernetes(deployment)["ConfigMap"]["data"] == {
        "lm.yaml": "chunk_size: 256\nnote: costs $5\n"
    }
    mounts = {mount["mountPath"]: mount for mount in engine(deployment)["volumeMounts"]}
    assert mounts["/etc/lm/lm.yaml"]["subPath"] == "lm.yaml"
    written = compose(deployment)
    ((name, config),) = written["configs"].items()
    assert config["content"] == "chunk_size: 256\nnote: costs $$5\n"
    assert written["services"]["p"]["configs"] == [{"source": name, "target": "/etc/lm/lm.yaml"}]


def test_a_file_with_a_secret_is_mounted_and_not_written() -> None:
    deployment = manifest("secret.yaml")
    for form in ("compose", "kubernetes"):
        assert "pw123" not in files(deployment, form)[0].text
    assert "ConfigMap" not in kubernetes(deployment)
    volumes = [volume for volume in pod(deployment)["volumes"] if "secret" in volume]
    assert volumes == [{"name": "path-0", "secret": {"secretName": "p-secrets"}}]
    assert "--from-file=secret.yaml=..." in "\n".join(kubernetes_notes(rendered(deployment)))
    assert "put it at ./secret.yaml" in "\n".join(compose_notes(rendered(deployment)))


def test_what_is_on_this_machine_is_mounted_at_its_own_path(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "t.jinja").write_text("{{ x }}")
    deployment = profile("model: ./model\nvllm: {chat-template: t.jinja, host: h/u/b}\n")
    surroundings = Surroundings(str(tmp_path), look_from(tmp_path), {})
    shown = plan_rendering(deployment, None, launches(deployment), surroundings, image="x:1")
    assert {path.path for path in shown.paths} == {
        str(tmp_path / "model"),
        str(tmp_path / "t.jinja"),
    }
    assert shown.cache is None
    assert f"WorkingDirectory={tmp_path}\n" in render_systemd(shown)[0].text
    config_map = next(yaml.safe_load_all(render_kubernetes(shown)[0].text))
    assert config_map["data"] == {"t.jinja": "{{ x }}"}
    assert f"{tmp_path}/model is expected in a PersistentVolumeClaim" in "\n".join(
        kubernetes_notes(shown)
    )


def test_a_private_key_is_mounted_and_not_written(tmp_path: Path) -> None:
    pem = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n"
    (tmp_path / "tls.pem").write_text(pem)
    (tmp_path / "own.key").write_text("MHcCAQEE\n")
    (tmp_path / "cert.pem").write_text("-----BEGIN CERTIFICATE-----\nMIIB\n")
    for name in ("tls.pem", "own.key"):
        options = f"{{ssl-keyfile: ./{name}, ssl-certfile: ./cert.pem}}"
        deployment = profile(f"model: m/m\nvllm: {options}\n")
        surroundings = Surroundings(str(tmp_path), look_from(tmp_path), {})
        shown = plan_rendering(deployment, None, launches(deployment), surroundings, image="x:1")
        for form in FORMATS:
            written = rendering_form(form).render(shown)[0].text
            assert "MHcCAQEE" not in written
        assert "MIIB" in render_kubernetes(shown)[0].text
        assert f"--from-file={name}=..." in "\n".join(kubernetes_notes(shown))


def test_limits_are_those_that_were_written() -> None:
    written = "model: m/m\ntarget: {shm: 1 GiB, memlock: unlimited, memory_limit: 3000000000}\n"
    deployment = profile(written)
    (service,) = compose(deployment)["services"].values()
    assert service["shm_size"] == "1g"
    assert service["ulimits"] == {"memlock": {"soft": -1, "hard": -1}}
    assert service["deploy"]["resources"]["limits"] == {"memory": "3000000000b"}
    unit = files(deployment, "systemd")[0].text
    assert "MemoryMax=3000000000\n" in unit
    assert "LimitMEMLOCK=infinity\n" in unit
    assert engine(deployment)["resources"]["limits"]["memory"] == "3000000000"
    (plain,) = compose(profile("model: m/m\n"))["services"].values()
    assert plain["ipc"] == "host"
    assert "limits" not in plain["deploy"]["resources"]


def test_gpus_are_counted_as_the_engine_takes_them() -> None:
    def devices(text: str) -> list[dict[str, Any]]:
        (service,) = compose(profile(text))["services"].values()
        resources = service.get("deploy", {}).get("resources", {})
        found: list[dict[str, Any]] = resources.get("reservations", {}).get("devices", [])
        return found

    sizes = "model: m/m\nvllm: {tensor-parallel-size: 2, pipeline-parallel-size: 2}\n"
    assert devices(sizes)[0]["count"] == 4
    assert engine(profile(sizes))["resources"]["limits"]["nvidia.com/gpu"] == "4"
    assert devices('model: m/m\nenv: {CUDA_VISIBLE_DEVICES: "1"}\n')[0]["count"] == "all"
    assert devices("model: m/m\ntarget: {gpu: cpu}\n") == []
    selector = pod(profile("model: m/m\ntarget: {gpu: L40S}\n"))["nodeSelector"]
    assert selector == {"nvidia.com/gpu.product": "NVIDIA-L40S"}


def test_probes_ask_where_the_server_answers() -> None:
    assert engine(profile("model: m/m\nvllm: {port: 81}\n"))["startupProbe"]["httpGet"] == {
        "path": "/health",
        "port": 81,
    }
    tls = engine(profile("model: m/m\nvllm: {ssl-certfile: /a.pem}\n"))
    assert tls["startupProbe"]["httpGet"]["scheme"] == "HTTPS"
    local = profile("model: m/m\nvllm: {host: 127.0.0.1}\n")
    assert "exec" in engine(local)["startupProbe"]
    assert "Service" not in kubernetes(local)
    silent = profile("model: m/m\nvllm: {headless: true}\n")
    assert "startupProbe" not in engine(silent)
    (service,) = compose(silent)["services"].values()
    assert "healthcheck" not in service


def test_the_server_is_a_sidecar_that_shares_memory_and_not_the_download() -> None:
    deployment = profile("model: m/m\n" + MP % "localhost" + SERVER)
    (server,) = pod(deployment)["initContainers"]
    assert server["restartPolicy"] == "Always"
    assert [mount["name"] for mount in server["volumeMounts"]] == ["shm"]
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"} in server["env"]
    named = profile("model: m/m\n" + MP % "cache" + SERVER)
    assert pod(named)["hostAliases"] == [{"ip": "127.0.0.1", "hostnames": ["cache"]}]


def test_no_two_services_have_one_name() -> None:
    for name in ("cache", "lmcache"):
        deployment = profile(f"name: {name}\nmodel: m/m\n" + MP % "cache" + SERVER)
        assert len(compose(deployment)["services"]) == 2


def test_directories_of_caches_are_volumes() -> None:
    text = "model: m/m\nlmcache: {local_disk: 'file:///var/kv/'}\nenv: {HF_HOME: /hf}\n"
    (service,) = compose(profile(text))["services"].values()
    assert {v["target"]: v["source"] for v in service["volumes"]} == {
        "/hf": "huggingface",
        "/var/kv": "lmcache-disk",
    }
