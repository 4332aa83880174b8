"""What every other layer builds on: settings, errors, records, storage calls and embedded services."""
