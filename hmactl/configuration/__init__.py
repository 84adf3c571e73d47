"""How a repository says it is linted: `.hmactl.yaml`, or `[tool.hmactl]` in pyproject.toml."""
