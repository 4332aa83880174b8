"""Commands on the installation and its readers: checked, deployed, served, tried on single files."""
