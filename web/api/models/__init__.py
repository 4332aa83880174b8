"""What the API takes and gives, as its OpenAPI document describes it."""
