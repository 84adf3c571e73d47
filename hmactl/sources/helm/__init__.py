"""Values of charts that start vLLM: what the chart makes of them."""
