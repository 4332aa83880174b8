"""Jobs that process: items as pages with Bates numbers. Phase render counts them, the barrier numbers them, phase stamp draws
each once and writes it (docs/production.md)."""
