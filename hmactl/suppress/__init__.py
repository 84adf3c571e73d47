"""Findings that an operator has seen and accepts: comments beside the line, and a baseline."""
