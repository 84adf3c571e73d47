"""The program that runs inside the target interpreter: standard library and the engine only."""
