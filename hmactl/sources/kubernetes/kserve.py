"""KServe's own kinds, in which vLLM's command is not written out.

InferenceService: the container of its ServingRuntime with ``predictor.model`` laid over it, whose
``args`` go behind the runtime's. LLMInferenceService: the container ``main`` of
``kserve-config-llm-template``, which starts ``vllm serve`` with the model and with what
VLLM_ADDITIONAL_ARGS holds. Source: pkg/controller/v1beta1/inferenceservice and config/llmisvcconfig
of kserve/kserve. What else the controller adds is not known.
"""

import re
from collections.abc import Iterator

from hmactl.sources.compose.split import split_command
from hmactl.sources.kubernetes.build import mapping, scalar, sequence
from hmactl.sources.kubernetes.objects import Object, Objects, items_at, text_at
from hmactl.sources.node import Node, Position
from hmactl.sources.shell.value import from_word
from hmactl.sources.yaml_word import yaml_word

_RUNTIMES = ("ServingRuntime", "ClusterServingRuntime")
_MODELS = "/mnt/models"
_MODEL_PLACE = re.compile(rf"(^|=){_MODELS}$")
_NAME = re.compile(r"\{\{-?\s*\.Name\s*-?\}\}")
_ADDITIONAL = "VLLM_ADDITIONAL_ARGS"
# Options of KServe's huggingfaceserver that are not vLLM's, with what they are to vLLM.
_OF_THE_SERVER = {
    "model_id": "--model",
    "model_name": "--served-model-name",
    "model_dir": "--model",
}
_PARALLEL = {
    "tensor": "--tensor-parallel-size",
    "pipeline": "--pipeline-parallel-size",
    "data": "--data-parallel-size",
    "dataLocal": "--data-parallel-size-local",
}


def is_used_runtime(each: Object, objects: Objects) -> bool:
    """Whether it is a ServingRuntime that an InferenceService of the input lays a model over."""
    return each.kind in _RUNTIMES and any(
        other.kind == "InferenceService"
        and text_at(other.root, "spec", "predictor", "model", "runtime") == each.name
        for other in objects.all
    )


def inference_service(each: Object, objects: Objects) -> Object:
    """The same with its container written out, where ``predictor.model`` is served by vLLM."""
    predictor = each.root.at(("spec", "predictor"))
    model = None if predictor is None else predictor.at(("model",))
    if predictor is None or model is None or not isinstance(model.value, dict):
        return each
    name = text_at(model, "runtime") or ""
    runtime = next(
        (r for kind in _RUNTIMES if (r := objects.find(kind, name, each.namespace)) is not None),
        None,
    )
    container: Node | None = None
    if runtime is not None:
        container = _over_runtime(each, runtime, model)
    elif "vllm" in name.lower() or _format(model) in {"vllm", "huggingface"}:
        container = _without_runtime(model)
    if container is None:
        return each
    volumes = [*items_at(predictor, "volumes")]
    if runtime is not None:
        volumes += items_at(runtime.root, "spec", "volumes")
    spec = {str(key): node for key, node in predictor.children.items() if key != "model"}
    spec |= {
        "containers": sequence([container], model),
        "volumes": sequence(volumes, predictor),
    }
    unseen = None if runtime is not None else (f"runtime {name or _format(model)}", model)
    return _with_pod(each, mapping(spec, predictor), unseen)


def _format(model: Node) -> str:
    return (text_at(model, "modelFormat", "name") or "").lower()


def _over_runtime(each: Object, runtime: Object, model: Node) -> Node | None:
    containers = items_at(runtime.root, "spec", "containers")
    base = next((c for c in containers if text_at(c, "name") == "kserve-container"), None)
    base = base or next(iter(containers), None)
    if base is None:
        return None
    served = _model(model)
    children = {str(key): node for key, node in base.children.items()}
    for key in ("image", "command", "resources"):
        if (own := model.at((key,))) is not None and own.value is not None:
            children[key] = own
    for key in ("args", "env", "volumeMounts"):
        items = [*items_at(base, key), *items_at(model, key)]
        children[key] = sequence(items, base)
    for key in ("command", "args"):
        words = [_filled(node, each.name, served) for node in _items(children.get(key))]
        children[key] = sequence(words, base)
    return mapping(children, base)


def _items(node: Node | None) -> list[Node]:
    return [] if node is None or not isinstance(node.value, list) else list(node.children.values())


def _filled(node: Node, name: str, model: Node) -> Node:
    if not isinstance(node.value, str):
        return node
    text = _NAME.sub(lambda _: name, node.value) if name else node.value
    return scalar(_MODEL_PLACE.sub(lambda m: m[1] + model.written, text), node)


def _without_runtime(model: Node) -> Node | None:
    words = [*_of_server(items_at(model, "args"))]
    if any(word.written == "--backend=huggingface" for word in words):
        return None
    words = [word for word in words if not word.written.startswith("--backend=")]
    named = any(
        word.written in {"--model"} or word.written.startswith("--model=") for word in words
    )
    command = [scalar("vllm", model), scalar("serve", model), *([] if named else [_model(model)])]
    children = {
        "name": scalar("kserve-container", model),
        "command": sequence(command, model),
        "args": sequence(words, model),
        **{key: model.at((key,)) for key in ("image", "env", "resources", "volumeMounts")},
    }
    return mapping(children, model)


def _of_server(words: list[Node]) -> Iterator[Node]:
    for word in words:
        option, equals, value = word.written.partition("=")
        own = _OF_THE_SERVER.get(option.removeprefix("--").replace("-", "_"))
        if own is None or not option.startswith("--"):
            yield word
        else:
            yield scalar(f"{own}{equals}{value}", word)


def _model(model: Node) -> Node:
    uri = model.at(("storageUri",))
    return _of_uri(uri) if uri is not None else scalar(_MODELS, model)


def _of_uri(uri: Node) -> Node:
    """A model of the Hugging Face hub in its own place; else where KServe puts it."""
    text = uri.written
    if text.startswith(("$", "{")):
        # Something else puts it there before the manifest is applied.
        return uri
    if not text.startswith("hf://"):
        return scalar(_MODELS, uri)
    line, column = uri.stretches[0][1:3] if uri.stretches else uri.position
    return Node(text[5:], Position(line, column + 5), text[5:])


def llm_inference_service(each: Object, source: str) -> Object:
    """The same with the containers named ``main`` written out."""
    spec = each.root.at(("spec",))
    model = None if spec is None else spec.at(("model",))
    if spec is None or model is None or not isinstance(model.value, dict):
        return each
    pods = {}
    for key, part in (("template", spec), ("prefill", spec.at(("prefill",)))):
        if part is not None and isinstance(part.value, dict):
            template = part.at(("template",)) or mapping({}, part)
            pods[key] = _written_out(template, part, model, source)
    return _with_pod(each, mapping(pods, spec), ("what KServe adds", model))


def _written_out(template: Node, part: Node, model: Node, source: str) -> Node:
    """A PodSpec in which ``main`` has its whole command."""
    containers = items_at(template, "containers")
    main = next((c for c in containers if text_at(c, "name") == "main"), None)
    others = [c for c in containers if c is not main]
    if main is None and len(others) == 1:
        main, others = others[0], []
    base = main or template
    if not items_at(base, "command"):
        name, uri = model.at(("name",)), model.at(("uri",))
        words = [scalar("vllm", base), scalar("serve", base)]
        words.append(scalar(_MODELS, model) if uri is None else _of_uri(uri))
        if name is not None:
            words += [scalar("--served-model-name", name), name]
        for key, option in _PARALLEL.items():
            if (count := part.at(("parallelism", key))) is not None:
                words += [scalar(option, count), scalar(count.written, count)]
        children = {str(k): node for k, node in main.children.items()} if main is not None else {}
        children.setdefault("name", scalar("main", base))
        children |= {
            "command": sequence(words, base),
            "args": sequence([*items_at(base, "args"), *_additional(base, source)], base),
        }
        main = mapping(children, base)
    elif main is not None and (uri := model.at(("uri",))) is not None:
        children = {str(k): node for k, node in main.children.items()}
        for key in ("command", "args"):
            words = [_filled(node, "", _of_uri(uri)) for node in _items(children.get(key))]
            children[key] = sequence(words, main)
        main = mapping(children, main)
    pod = {str(key): node for key, node in template.children.items()}
    pod["containers"] = sequence([*([] if main is None else [main]), *others], template)
    return mapping(pod, template)


def _additional(container: Node, source: str) -> Iterator[Node]:
    """The words of VLLM_ADDITIONAL_ARGS, which KServe's script leaves to the shell to split."""
    for variable in items_at(container, "env"):
        value = variable.at(("value",))
        if text_at(variable, "name") == _ADDITIONAL and value is not None and not value.children:
            for word in split_command(from_word(yaml_word(source, value))).words:
                at = Position(word.origin.line or 1, word.origin.column or 1)
                stretches = word.places.stretches if word.places else ()
                yield Node(word.text, at, word.text, stretches=stretches)


def _with_pod(each: Object, spec: Node, unseen: tuple[str, Node] | None) -> Object:
    children = {str(key): node for key, node in each.root.children.items()}
    children["spec"] = spec
    return Object(mapping(children, each.root), unseen)
