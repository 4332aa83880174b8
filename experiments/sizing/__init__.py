"""How much data, time and room a study needs that is to be a result: `edbench bench plan`."""
