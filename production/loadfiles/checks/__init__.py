"""What is compared of a production's load files, one thing a module; `production.loadfiles.check` has it all done."""
