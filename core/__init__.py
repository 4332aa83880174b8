"""The base of every other layer: settings, errors, records, storage calls and embedded services."""
