"""The forms in which operators write a deployment."""

from enum import StrEnum


class Form(StrEnum):
    """Named as on the command line: ``--as FORM``."""

    PROFILE = "profile"
    COMMAND = "command"
    SHELL = "shell"
    KUBERNETES = "kubernetes"
    COMPOSE = "compose"
    DOCKERFILE = "dockerfile"
    SYSTEMD = "systemd"
    HELM = "helm"
    VLLM = "vllm"
    LMCACHE = "lmcache"
