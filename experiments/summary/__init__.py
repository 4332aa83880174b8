"""The summary of `edbench bench storage all`: one page over the packages of all tests that were run, a package itself.

`summary.json` says which tests there were; every word of the page is told from the packages below `packages/`.
"""
