"""Benchmarks: what fast means here, each number beside a reference from the same run.

`python -m benchmarks` runs them all, `python -m benchmarks P1 P4` some of them. One module is one
measure: a function `measure(sheet, small=…)` that writes its numbers on a sheet. Whatever makes the
load or reads the answers is another process wherever a server is measured. Deliberately not here:
tests. Nothing in CI ever fails because a machine was slow; CI runs each measure once, small, to
prove that it works.
"""
