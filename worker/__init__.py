"""The worker: claims tasks, unpacks, hashes, relates and indexes items. Start reading at `run_task.py`."""
