"""How a vLLM hashes tokens, as far as LMCache in its process uses that."""

import ast
from typing import Any

from hmactl.catalogue.source.functions import body, place
from hmactl.catalogue.source.hma_rules import NotUnderstoodError
from hmactl.catalogue.source.modules import Sources

MODULE = "vllm.utils.hashing"
FUNCTION = "get_hash_fn_by_name"
CACHE = "vllm.v1.core.kv_cache_utils"
SEED = "DEFAULT_NONE_HASH_SEED"


def hashing(sources: Sources) -> dict[str, Any]:
    """``names`` of the algorithms, and whether the first hash has a ``fixed_seed``.

    Raises NotUnderstoodError where they stand elsewhere.
    """
    found = place(sources, MODULE, FUNCTION)
    names = [] if found is None else sorted(_compared(found[1]))
    cache = body(sources, CACHE)
    if not names or not cache:
        raise NotUnderstoodError(f"the hash algorithms in {MODULE}")
    seeds = (n for n in cache if isinstance(n, ast.Assign | ast.AnnAssign))
    return {"names": names, "fixed_seed": any(SEED in _targets(node) for node in seeds)}


def _compared(function: ast.FunctionDef) -> set[str]:
    """The texts that the function's argument is compared with."""
    argument = function.args.args[0].arg
    return {
        node.comparators[0].value
        for node in ast.walk(function)
        if isinstance(node, ast.Compare)
        and ast.unparse(node.left) == argument
        and isinstance(node.ops[0], ast.Eq)
        and isinstance(node.comparators[0], ast.Constant)
        and isinstance(node.comparators[0].value, str)
    }


def _targets(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {ast.unparse(target) for target in targets}
