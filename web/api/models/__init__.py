"""Requests and answers of the API, as its OpenAPI document describes them."""
