"""Simulates a discovery in virtual time: `edbench simulate`. Nothing here runs a job or touches a storage."""
