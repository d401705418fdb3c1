"""Workspaces: durable filesystems, and the instance that runs commands in each.

Today the room keeps only its table. Providers, attachments, tools and snapshots come later. It is
not a code session (`sessions`) and not a process: what runs inside a workspace is below, in
`processes`, and what is built on one (a hosted server, a team's unit) is above.
"""
