"""The proof that no job is lost: faults made on purpose, a checker, and the figures of the last run.

`make proof` runs all of it; small versions of every part are among the tests (tests/proof).
"""
