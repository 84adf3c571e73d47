"""One spelling for the options of vLLM and of the LMCache server."""


def option_name(key: str) -> str:
    """A long option's name in dashed form: ``max_model_len`` becomes ``max-model-len``.

    Like vLLM's own parser, it leaves what follows a dot alone, which names a JSON key.
    """
    head, dot, rest = key.partition(".")
    return head.replace("_", "-") + dot + rest
