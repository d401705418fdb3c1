"""The store's own statements, from `queries.sql` beside this file."""

from coven.store.statements import load

queries = load("coven.store")
