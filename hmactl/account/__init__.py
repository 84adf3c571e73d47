"""The arithmetic behind a deployment's memory, step by step."""
