"""hmactl: check a vLLM deployment with a KV connector, then launch exactly what was checked."""

__version__ = "0.1.0"
