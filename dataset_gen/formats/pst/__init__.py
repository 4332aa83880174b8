"""A writer of Outlook personal stores (PST, Unicode format, [MS-PST]); `writer.PstWriter` is the way in.

From the bottom up: `space` (allocation maps), `heap` (heaps on nodes, B-trees on heaps, table contexts), `message`
(property tags, messages), `writer` (folders and the store), `store` (mail stores of a corpus). It writes from front to
back, one message in memory at a time, and gives the same bytes for the same calls."""
