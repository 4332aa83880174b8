"""Access databases, of every version from Access 97 on."""
