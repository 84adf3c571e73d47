"""Values of a chart in, the containers that the chart starts out."""

from dataclasses import replace

from hmactl.deployment.form import Form
from hmactl.deployment.setting import Origin
from hmactl.finding import Finding
from hmactl.sources.given import Given
from hmactl.sources.helm import complaints, model_service, production_stack
from hmactl.sources.helm.recognise import model_services, stacks
from hmactl.sources.kubernetes.objects import Object, Objects
from hmactl.sources.kubernetes.reader import carrying, processes_of
from hmactl.sources.node import Node
from hmactl.sources.process.process import Process
from hmactl.sources.yaml_nodes import read_documents


def read_helm(source: str, text: str, given: Given) -> tuple[Process, ...]:
    """What the vLLM production stack or llm-d's modelservice makes of its values."""
    documents = read_documents(source, text, of_others=True)
    findings = [f for document in documents for f in document.findings]
    processes: list[Process] = []
    for root in (document.root for document in documents):
        for values in [] if root is None else stacks(root):
            findings.append(_not_rendered(source, values, "servingEngineSpec"))
            processes += _of_stack(source, values, given)
        for values in [] if root is None else model_services(root):
            findings.append(_not_rendered(source, values, "modelArtifacts"))
            objects = [
                Object(model_service.render(values, r)) for r in model_service.roles_of(values)
            ]
            processes += processes_of(Objects(source, tuple(objects)), given, Form.HELM)
    return carrying(tuple(findings), processes)


_CHARTS = {
    "servingEngineSpec": "the vLLM production stack's chart",
    "modelArtifacts": "llm-d's modelservice chart",
}


def _not_rendered(source: str, values: Node, key: str) -> Finding:
    return complaints.not_rendered(_CHARTS[key], Origin(source, *values.key_position((key,))))


def _of_stack(source: str, values: Node, given: Given) -> list[Process]:
    configs = production_stack.config_map(values)
    shared = () if configs is None else (Object(configs),)
    found: list[Process] = []
    for model in production_stack.models_of(values):
        on_ray = production_stack.is_on_ray(model)
        unseen = production_stack.of_another_version(model)
        if on_ray:
            unseen = ("what the chart's RayCluster adds", model)
        rendered = Object(production_stack.render(values, model), unseen)
        objects = Objects(source, (*shared, rendered))
        for process in processes_of(objects, given, Form.HELM):
            findings = (*process.findings, *complaints.traps(model, source))
            found.append(replace(process, findings=findings))
    return found
