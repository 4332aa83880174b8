"""What documents are made of: text, people, threads of mail, blocks, files of systems."""
