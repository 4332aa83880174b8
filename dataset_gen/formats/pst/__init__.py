"""A writer of Outlook personal stores (PST, Unicode format, [MS-PST]); `writer.PstWriter` is the way in.

From the bottom up: `space` (allocation maps), `heap` (heaps on nodes, B-trees on heaps, table contexts), `message` (property
tags, messages), `writer` (folders and the store), `store` (mail stores of a corpus). It needs nothing but the standard library and
`readers.mail_form`, writes from front to back with memory that does not grow with attachments, and gives the same bytes for the
same calls.
"""
