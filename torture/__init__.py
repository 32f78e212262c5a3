"""Reliability in its long form: bad input, faults, extreme numbers and load."""
