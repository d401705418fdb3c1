"""Runs: executions of an agent definition, with every message and every tool call on record.

Today the room keeps only its tables: the runs, which began as an older table and were given what
resuming needs by a later migration, their messages and their tool calls. Recording, resuming and
the history for people come later. It is not an agent, which is a process (`agents`).
"""
