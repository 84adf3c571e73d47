"""Builds hmactl's catalogue of versions from released wheels, whose source is read, never run."""
