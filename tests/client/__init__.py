"""The client, against the real daemon, and against peers that break in ways a daemon does not."""
