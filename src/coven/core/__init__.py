"""Words that everyone shares: ids, time, errors, quantities, pages, failpoints.

Pure: nothing here opens a file, a socket or a database, and nothing here knows a room.
"""
