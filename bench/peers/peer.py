"""What every peer has in common: texts in pieces, a ranking of them, a string for the model."""

import resource
from dataclasses import dataclass
from importlib.metadata import version

from . import tokens

# About as long as a passage: what most guides set a splitter to.
CHARACTERS = 800
# How many pieces a search finds, so that the largest budget can be filled.
CANDIDATES = 200


@dataclass(slots=True)
class Piece:
    """A part of a document: its characters from `start`, after a line with its title."""

    document: str
    start: int
    head: str
    body: str

    @property
    def text(self):
        return self.head + self.body


class Peer:
    """To be given a corpus, then asked. Each adapter is one of these."""

    # The packages whose versions are reported.
    packages = ()
    # What is said of it in the results.
    about = ""
    # Ways to pack the same ranking; each is a line of its own in the results.
    packings = ("",)
    # What has the engine, if that is not Python.
    program = None

    def __init__(self, folder, embedder):
        self.folder = folder
        self.embedder = embedder
        self.pieces = []
        self.counts = {}

    @classmethod
    def versions(cls):
        return {package: version(package) for package in cls.packages}

    @classmethod
    def told(cls, packing):
        """What is said of it in the results, packed like this."""
        return cls.about

    @classmethod
    def memory(cls):
        """The most that the engine had, in MB."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def index(self, documents):
        """Splits, embeds and stores."""
        raise NotImplementedError

    def rank(self, query):
        """Places in `self.pieces`, the best first."""
        raise NotImplementedError

    def close(self):
        """Gives back what the corpus took, before the next one."""

    def pack(self, places, budget, packing):
        """The string for the model, and the places that went into it, in order."""
        return self.greedy(places, budget)

    def greedy(self, places, budget):
        """Whole pieces in the order of the ranking, all that still fit, by an exact count."""
        chosen, left = [], budget
        for place in places:
            if left < 8:
                break
            size = self.size(place)
            if size <= left:
                chosen.append(place)
                left -= size
        # Tokens may reach over a joint, so that the whole is seldom one more than its parts.
        while tokens.count(text := self.joined(chosen)) > budget:
            chosen.pop()
        return text, chosen

    def joined(self, places):
        return "\n\n".join(self.pieces[place].text for place in places)

    def size(self, place):
        if place not in self.counts:
            self.counts[place] = tokens.count(self.pieces[place].text + "\n\n")
        return self.counts[place]


def head(document):
    return f"{document.title}\n" if document.title else ""


def whole(documents):
    return [Piece(document.id, 0, head(document), document.text) for document in documents]


def split(documents):
    """By LangChain's splitter, which is what most people use whatever they store pieces in."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=CHARACTERS, chunk_overlap=0, add_start_index=True
    )
    pieces = []
    for document in documents:
        if len(document.text) <= CHARACTERS:
            pieces.append(Piece(document.id, 0, head(document), document.text))
            continue
        for part in splitter.create_documents([document.text]):
            start = part.metadata["start_index"]
            pieces.append(Piece(document.id, start, head(document), part.page_content))
    return pieces
