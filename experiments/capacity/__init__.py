"""The capacity model: what more workers, more databases or another filer would do."""
