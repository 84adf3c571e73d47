"""Starting a server with its companion, watching both, and leaving nothing behind.

LMCache 0.5.6 can start its MP server from inside vLLM (``lmcache.mp.autostart`` of the connector).
hmactl does not use that. There the server is a child of a vLLM worker: it starts in the middle of
the engine's own start, with the weights loaded already; it has no order of stop, so it goes when
the worker goes or outlives it; nobody waits for it; and releases before 0.5.6 do not have it. Where
a profile asks for both, the connector finds a healthy server and starts none.
"""
