"""Controls: what plain sections, confetti and chance get by the same figures."""

import math
import random
import re
from collections import Counter
from dataclasses import replace

from .. import markdown, tokens
from ..peer import EQUAL_DEPTH, SEPARATOR, Peer, Piece, fitted, split
from .bm25s_plain import Split

SECTION_TOKENS = 400
LINES = re.compile(r"[^\n]*\n|[^\n]+")
SENTENCES = re.compile(r".+?(?:[.!?][\"')\]]*(?=\s)|\n|$)", re.S)
WORDS = re.compile(r"\S+\s*")


class Sections(Split):
    """BM25 over sections, as a careful reader would cut a text by hand."""

    is_control = True
    packages = ("bm25s", "PyStemmer")
    about = (
        "BM25 as `bm25s`, over sections: split at headings, longer ones at paragraphs into at most "
        f"{SECTION_TOKENS} tokens, each under title and headings; greedy"
    )
    shipped_depth = EQUAL_DEPTH

    def parts(self, documents):
        return [piece for document in documents for piece in section_pieces(document)]


def section_pieces(document):
    text = document.text
    for section in markdown.sections(text):
        start = section.start
        for begin, end in groups(text, section.start, section.end):
            # The first piece shows the section's own heading in its text.
            path = section.above if begin == start else section.path
            yield Piece(document.id, begin, heading_line(document, path), text[begin:end])


def heading_line(document, path):
    names = [document.title, *path]
    names = [name for name, before in zip(names, ["", *names]) if name and name != before]
    return " > ".join(names) + "\n" if names else ""


def groups(text, start, end):
    """Ranges of whole paragraphs, of at most `SECTION_TOKENS` each, headings without text aside."""
    if tokens.count(text[start:end]) <= SECTION_TOKENS:
        yield start, start + len(text[start:end].rstrip())
        return
    begin = stop = None
    for low, high in small_paragraphs(text, start, end):
        is_full = begin is not None and tokens.count(text[begin:high]) > SECTION_TOKENS
        if is_full and not markdown.is_headings(text[begin:stop]):
            yield begin, begin + len(text[begin:stop].rstrip())
            begin = None
        begin = low if begin is None else begin
        stop = high
    if begin is not None:
        yield begin, begin + len(text[begin:stop].rstrip())


def small_paragraphs(text, start, end):
    """Paragraphs; those that are too long in lines, else in sentences, else in words."""
    is_first = True
    for low, high in markdown.paragraphs(text, start, end):
        # So that the first piece begins where the section does.
        low, is_first = (start if is_first else low), False
        yield from small_ranges(text, low, high, (LINES, SENTENCES, WORDS))


def small_ranges(text, start, end, borders):
    if not borders or tokens.count(text[start:end]) <= SECTION_TOKENS:
        yield start, end
        return
    for part in borders[0].finditer(text, start, end):
        if part[0]:
            yield from small_ranges(text, part.start(), part.end(), borders[1:])


class OneSentence(Split):
    """The straw man: of each hit the one sentence that has most in common with the question."""

    is_control = True
    packages = ("bm25s", "PyStemmer", "langchain-text-splitters")
    about = (
        "BM25 as `bm25s` over pieces of 800 characters; of each hit only the one sentence with the "
        "highest BM25 for the question, without its title; greedy"
    )
    shipped_depth = EQUAL_DEPTH

    def index(self, documents):
        super().index(documents)
        frequency = Counter()
        for words in self.words([piece.text for piece in self.pieces]):
            frequency.update(set(words))
        n = len(self.pieces)
        self.weights = {
            word: math.log(1 + (n - count + 0.5) / (count + 0.5)) for word, count in frequency.items()
        }
        self.sentences, self.best = {}, (None, {})

    def words(self, texts):
        import bm25s

        return bm25s.tokenize(
            texts, stopwords="en", stemmer=self.stemmer, show_progress=False, return_ids=False
        )

    def pack(self, question, places, budget, packing):
        if self.best[0] != (question.id, question.text):
            wanted = set(self.words([question.text])[0])
            best = {place: self.best_sentence(place, wanted) for place in places}
            self.best = (question.id, question.text), best
        chosen, left = [], budget
        for place in places:
            if left < 8:
                break
            piece, size = self.best[1][place]
            if size <= left:
                chosen.append(piece)
                left -= size
        return fitted(chosen, budget)

    def best_sentence(self, place, wanted):
        sentences = self.split_sentences(place)
        average = sum(len(words) for _, words, _ in sentences) / len(sentences) or 1
        piece, _, size = max(
            sentences, key=lambda sentence: self.score(sentence[1], wanted, average)
        )
        return piece, size

    def split_sentences(self, place):
        """The sentences of a piece, each with its words and its size in tokens."""
        if place not in self.sentences:
            piece = self.pieces[place]
            found = []
            for part in SENTENCES.finditer(piece.body):
                body = part[0].strip()
                if body:
                    start = part.start() + len(part[0]) - len(part[0].lstrip())
                    found.append(replace(piece, start=piece.start + start, head="", body=body))
            found = found or [replace(piece, head="")]
            words = self.words([sentence.body for sentence in found])
            sizes = [tokens.count(sentence.body + SEPARATOR) for sentence in found]
            self.sentences[place] = list(zip(found, words, sizes))
        return self.sentences[place]

    def score(self, words, wanted, average):
        counts = Counter(word for word in words if word in wanted)
        norm = 0.9 * (1 - 0.4 + 0.4 * len(words) / average)
        return sum(
            self.weights.get(word, 0) * count / (count + norm) for word, count in counts.items()
        )


class Random(Peer):
    """Pieces by chance, the same for the same question."""

    is_control = True
    packages = ("langchain-text-splitters",)
    about = "pieces of 800 characters in random order, seeded by the question's id; greedy"
    shipped_depth = EQUAL_DEPTH

    def index(self, documents):
        self.pieces = split(documents)

    def rank(self, question, depth):
        every = range(len(self.pieces))
        return random.Random(question.id).sample(every, min(depth, len(every)))
