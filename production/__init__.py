"""What a production looks like: which files lie where, how items are numbered. Nothing here touches a disk or a database."""
