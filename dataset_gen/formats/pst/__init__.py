"""A writer of Outlook personal stores (PST, Unicode format, [MS-PST]); `writer.PstWriter` is the way in.

From the bottom up: `pages` (page trailers, B-trees), `space` (allocation maps), `blocks` (data and subnode trees),
`heap` (heap-on-node, B-tree-on-heap), `properties` (property contexts), `table` (table contexts), `named` (named
properties), `tags` (which property is which), `skeleton` and `folders` (mandatory nodes, folders), `message`,
`writer`. It needs nothing but the standard library and `readers.mail_form`, writes from front to back with memory that
does not grow with attachments, and gives the same bytes for the same calls.
"""
