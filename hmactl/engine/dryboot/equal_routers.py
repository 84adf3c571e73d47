"""Let vLLM look at one router of a model's many equal ones.

vLLM's way around transformers' classes traces the router of every layer of a mixture of experts,
and for some that takes seconds each. What it finds hangs on the router's class, its attributes and
the shapes of its weights alone.
"""

from typing import Any


def look_once() -> None:
    """Answer for a router as for an equal one before it, where this vLLM looks at routers."""
    try:
        from vllm.model_executor.models.transformers.fusers.moe import MoEBlockFuser
    except ImportError:
        return
    match = getattr(MoEBlockFuser, "_match_router", None)
    if match is None:
        return
    known: dict[Any, Any] = {}
    kept = []  # an attribute's id means nothing once it is gone

    def match_once(router: Any) -> Any:
        if next(router.children(), None) is not None:
            return match(router)
        key = _what_tells(router)
        if key not in known:
            known[key] = match(router)
            kept.append(router)
        return known[key]

    MoEBlockFuser._match_router = staticmethod(match_once)


def _what_tells(router: Any) -> Any:
    own = {k: v for k, v in vars(router).items() if not k.startswith("_")}
    attributes = tuple(
        (name, value if isinstance(value, bool | int | float | str | None) else id(value))
        for name, value in sorted(own.items())
    )
    state = [*router.named_parameters(), *router.named_buffers()]
    shapes = tuple((name, tuple(tensor.shape), str(tensor.dtype)) for name, tensor in state)
    return (type(router), attributes, shapes)
