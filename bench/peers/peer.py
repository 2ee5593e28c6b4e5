"""The interface of a peer: it splits documents into pieces, ranks them, and makes a string of them."""

import resource
from dataclasses import dataclass
from importlib.metadata import version

from . import tokens

# The size that most guides set a splitter to.
CHARACTERS = 800
# How many pieces each search returns when all systems search equally deep.
EQUAL_DEPTH = 200


@dataclass(slots=True)
class Piece:
    """A part of a document: its characters from `start`, below a line that names it."""

    document: str
    start: int
    head: str
    body: str

    @property
    def text(self):
        return self.head + self.body


class Peer:
    """Indexes one corpus and answers questions about it. Each adapter is a subclass."""

    # The packages whose versions are reported.
    packages = ()
    # How the report describes it.
    about = ""
    # Ways to pack the same ranking; each is a row of its own in the results.
    packings = ("",)
    # How many pieces a search returns when the caller does not say.
    shipped_depth = EQUAL_DEPTH
    # Where that number is from.
    shipped_from = ""
    # Controls show what the figures are worth. They are no competitors.
    is_control = False
    # The program that contains the engine, if that is not Python.
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
    def describe(cls, packing):
        """How the report describes it with this way to pack."""
        return cls.about

    @classmethod
    def memory(cls):
        """The peak memory of the engine in MB."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def index(self, documents):
        """Splits, embeds and stores."""
        raise NotImplementedError

    def rank(self, question, depth):
        """Searches for `depth` pieces and returns their places in `self.pieces`, best first."""
        raise NotImplementedError

    def most(self, depth):
        """The largest number of pieces that a search of this depth returns."""
        return depth

    def close(self):
        """Frees the corpus before the next one is indexed."""

    def pack(self, question, places, budget, packing):
        """Returns the string for the model and the pieces in it, in order."""
        return self.greedy(places, budget)

    def greedy(self, places, budget):
        """Takes whole pieces in the order of the ranking, all that still fit, by an exact count."""
        chosen, left = [], budget
        for place in places:
            if left < 8:
                break
            size = self.size(place)
            if size <= left:
                chosen.append(self.pieces[place])
                left -= size
        return fitted(chosen, budget)

    def size(self, place):
        if place not in self.counts:
            self.counts[place] = tokens.count(self.pieces[place].text + SEPARATOR)
        return self.counts[place]


SEPARATOR = "\n\n"


def fitted(pieces, budget):
    """Joins pieces. Tokens may cross a joint, so the whole is rarely one more than its parts."""
    while tokens.count(text := SEPARATOR.join(piece.text for piece in pieces)) > budget:
        pieces.pop()
    return text, pieces


def head(document):
    return f"{document.title}\n" if document.title else ""


def whole(documents):
    return [Piece(document.id, 0, head(document), document.text) for document in documents]


def split(documents):
    """Splits with LangChain's splitter, which most people use whatever they store pieces in."""
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
