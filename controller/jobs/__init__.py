"""Jobs: created, run, steered, followed, and what came of them."""
