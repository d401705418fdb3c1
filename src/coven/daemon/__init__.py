"""The daemon: the roof of the house, and the only floor that knows every room.

It starts things in order, drives their periodic work, puts their routes into one app, and answers
what no single room can. It holds no state of its own that matters: everything is in the store, so
it can be killed at any instruction.
"""
