"""One file an index engine, behind one interface."""

import warnings

# Whoosh 2.7.4 has escapes and comparisons that newer Pythons warn of when they compile it; they mean what they should.
warnings.filterwarnings("ignore", category=SyntaxWarning, module=r".*\bwhoosh\b")
