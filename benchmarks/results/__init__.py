"""`make results`: everything on docs/dev/results/README.md measured again, storage by storage, and the page told from the packages."""
