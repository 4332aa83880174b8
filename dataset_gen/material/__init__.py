"""Material of documents: text, people, threads of mail, blocks, system files."""
