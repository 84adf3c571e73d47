"""Shell scripts, read and never run."""
