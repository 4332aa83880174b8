"""`edbench inspect`: the same readers over single files, without a job."""
