"""Commands on jobs: run, steered, listed, looked through, verified."""
