"""Dockerfiles."""
