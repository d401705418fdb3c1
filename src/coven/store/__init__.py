"""The store: one database on two engines, one event log, one lock, one folder of blobs.

What rooms use: `Store.write` and `Store.read` with plain functions, `Transaction`, `View`, `Event`,
`load` for their named SQL, and the feed of events. It is not a cache and not an object mapper: a
room writes its own SQL and gives its own rows their meaning.
"""
