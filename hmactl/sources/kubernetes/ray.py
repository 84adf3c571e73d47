"""RayService with Ray Serve LLM: every ``llm_configs`` entry as the ``vllm serve`` that it equals.

Source: https://docs.ray.io/en/latest/serve/llm: ``engine_kwargs`` are vLLM's engine arguments. What
Ray adds to them is not known. Other applications are Python programs, which hmactl does not read.
"""

import json
from collections.abc import Iterator

from hmactl.deployment.files import TextFile
from hmactl.sources.kubernetes.build import mapping, scalar, sequence
from hmactl.sources.kubernetes.objects import Object, items_at, text_at
from hmactl.sources.node import Node, Position
from hmactl.sources.yaml_nodes import read_documents
from hmactl.sources.yaml_word import yaml_word

_LLM = ("build_openai_app", "build_dp_openai_app", "build_pd_openai_app")


def ray_service(each: Object, source: str) -> Iterator[Object]:
    """A pod for each model; nothing where the service is no Ray Serve LLM."""
    config = each.root.at(("spec", "serveConfigV2"))
    if config is None or not isinstance(config.value, str):
        return
    word = yaml_word(source, config)
    file = TextFile("serveConfigV2", word.text, word.where())
    for document in read_documents(source, word.text, of_others=True):
        root = None if document.root is None else _placed(document.root, file)
        for application in items_at(root, "applications"):
            if (text_at(application, "import_path") or "").endswith(_LLM):
                for model in items_at(application, "args", "llm_configs"):
                    if isinstance(model.value, dict):
                        yield _pod(each, model)


def _pod(each: Object, model: Node) -> Object:
    name = model.at(("model_loading_config", "model_id"))
    source = model.at(("model_loading_config", "model_source")) or name
    words = [scalar("vllm", model), scalar("serve", model)]
    if source is not None:
        # A mapping names a bucket.
        words.append(source if not source.children else scalar("{{ model_source }}", source))
    if name is not None and not name.children:
        words += [scalar("--served-model-name", name), name]
    words += _options(model)
    variables = model.at(("runtime_env", "env_vars"))
    env = [] if variables is None else [_variable(k, variables) for k in variables.children]
    container = mapping(
        {
            "name": name if name is not None and not name.children else scalar("model", model),
            "command": sequence(words, model),
            "env": sequence(env, model),
        },
        model,
    )
    accelerator = model.at(("accelerator_type",))
    selector = (
        None if accelerator is None else mapping({"gpu.nvidia.com/model": accelerator}, model)
    )
    spec = {"containers": sequence([container], model), "nodeSelector": selector}
    children = {"kind": each.root.at(("kind",)), "metadata": each.root.at(("metadata",))}
    return Object(
        mapping({**children, "spec": mapping(spec, model)}, model), ("what Ray adds", model)
    )


def _options(model: Node) -> Iterator[Node]:
    arguments = model.at(("engine_kwargs",))
    if arguments is None:
        return
    for key, value in arguments.children.items():
        at = Node(value.value, arguments.keys.get(key, value.position))
        name = str(key).replace("_", "-")
        if value.value is None:
            continue
        if value.value is False:
            yield scalar(f"--no-{name}", at)
            continue
        yield scalar(f"--{name}", at)
        if value.children or isinstance(value.value, list | dict):
            yield scalar(json.dumps(value.value), value)
        elif value.value is not True:
            yield value if isinstance(value.value, str) else scalar(value.written, value)


def _variable(key: str | int, variables: Node) -> Node:
    value = variables.children[key]
    name = Node(str(key), variables.keys.get(key, value.position), str(key))
    return mapping({"name": name, "value": scalar(value.written, value)}, value)


def _placed(root: Node, file: TextFile) -> Node:
    """The same document with the places of the manifest that it stands in."""
    # An alias shares the nodes of what it repeats.
    waiting, done = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        node.position = _place(node.position, file)
        node.keys = {key: _place(position, file) for key, position in node.keys.items()}
        node.stretches = ()
        waiting += node.children.values()
    return root


def _place(position: Position, file: TextFile) -> Position:
    origin = file.place(*position)
    return Position(origin.line or 1, origin.column or 1)
