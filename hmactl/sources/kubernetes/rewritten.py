"""Objects whose containers a controller writes, as it would write them."""

from collections.abc import Iterator

from hmactl.sources.kubernetes.kserve import (
    inference_service,
    is_used_runtime,
    llm_inference_service,
)
from hmactl.sources.kubernetes.objects import Object, Objects
from hmactl.sources.kubernetes.ray import ray_service


def with_containers(objects: Objects) -> Iterator[Object]:
    """The objects, those of KServe and Ray with the commands that they come to."""
    for each in objects.all:
        if each.kind == "InferenceService":
            yield inference_service(each, objects)
        elif each.kind == "LLMInferenceService":
            yield llm_inference_service(each, objects.source)
        elif not is_used_runtime(each, objects):
            yield each
            if each.kind == "RayService":
                yield from ray_service(each, objects.source)
