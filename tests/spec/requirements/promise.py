"""One promise of the specification, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A testable sentence. Its id never changes; the document is the authority on its meaning."""

    id: str
    sentence: str
    document: str
    is_written: bool
    """Whether the document says it (E), or it must hold for something written to be true (I)."""
    divergence: str = ""
    """How today's behaviour is known to differ. A gap is data here, never an expected failure."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the specification, which its promises are taken from."""

    name: str

    def written(self, id: str, sentence: str, *, divergence: str = "") -> Promise:
        """A promise that the document makes in words."""
        return Promise(
            id=id, sentence=sentence, document=self.name, is_written=True, divergence=divergence
        )

    def implied(self, id: str, sentence: str, *, divergence: str = "") -> Promise:
        """A promise without which a written one would not be true."""
        return Promise(
            id=id, sentence=sentence, document=self.name, is_written=False, divergence=divergence
        )
