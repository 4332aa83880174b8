"""Tasks of jobs that write files out of other jobs' items (decision 61).

A type of job is: its phases (core.records), for each of them a body (worker.run_task), and what it writes at its end
(worker.phases.producing.finish.ENDS).
"""
