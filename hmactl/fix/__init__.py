"""Edits that put a finding right, in a file as it is."""
