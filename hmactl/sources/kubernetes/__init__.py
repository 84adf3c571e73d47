"""Kubernetes manifests: every pod in them, and what its containers start."""
