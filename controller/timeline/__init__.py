"""One job, or a group of jobs, over time: the data of the web UI's charts, during the run and after it."""
