"""Verified fakes: small stand-ins for outside powers, for tests of code that uses Coven.

Each fake keeps a contract and runs the same conformance suite as the real thing, so a test that
passes with the fake tells something about the real thing. Shipped on purpose; nothing of the
product imports it.
"""

from coven.testing.blobs import MemoryBlobs

__all__ = ["MemoryBlobs"]
