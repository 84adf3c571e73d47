"""Hold a running server against its plan, and prove that its external KV cache works."""
