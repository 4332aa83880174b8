"""One job, or a group of jobs, over time: what the page draws while it runs and after."""
