"""Load that takes long: a million tasks in the queue, a million items in a job, jobs cancelled at random."""
