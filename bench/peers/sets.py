"""Labelled sets, read as `haversack eval` reads them, and the same choice of questions.

A set is a folder with `queries.jsonl` and a corpus: `corpus.jsonl`, or a folder `corpus/` of
files, mostly Markdown. A scoped set has one such folder for each corpus that is searched on its own.
"""

import json
from dataclasses import dataclass

from . import markdown

CORPUS = "corpus.jsonl"
CORPUS_FOLDER = "corpus"
QUESTIONS = "queries.jsonl"
LABELS = "qrels.tsv"
# Files with many records, which are no documents.
TABLES = (".jsonl", ".ndjson", ".csv", ".tsv")


@dataclass(slots=True)
class Document:
    id: str
    title: str
    text: str


@dataclass(slots=True)
class Question:
    id: str
    text: str
    # Documents that must not answer it.
    exclude: frozenset
    # Whether it has evidence or strings that have to stand in the pack.
    is_labelled: bool = False


@dataclass(slots=True)
class Scope:
    """A corpus that is searched on its own, with its questions."""

    name: str
    documents: list
    questions: list


def read(path, limit):
    """Reads the corpora of a set with at most `limit` labelled and `limit` unlabelled questions.

    Both are spread evenly over all corpora, as `haversack eval --limit` does.
    """
    scopes = [read_scope(folder, path) for folder in folders(path)]
    if not scopes:
        raise SystemExit(f"{path}: no {CORPUS} or {CORPUS_FOLDER}/ in it or in a folder below it")
    kept = set()
    for is_labelled in (True, False):
        every = [
            (scope.name, question.id)
            for scope in scopes
            for question in scope.questions
            if question.is_labelled == is_labelled
        ]
        kept.update(spread(every, limit))
    for scope in scopes:
        scope.questions = [
            question for question in scope.questions if (scope.name, question.id) in kept
        ]
    return [scope for scope in scopes if scope.questions]


def spread(every, limit):
    """Every n-th of a list, so that `limit` are left."""
    total = len(every)
    if not limit or limit >= total:
        return every
    return [
        one
        for number, one in enumerate(every)
        if number * limit // total != (number + 1) * limit // total
    ]


def folders(path):
    if is_set(path):
        return [path]
    below = sorted(entry for entry in path.iterdir() if entry.is_dir())
    return [folder for entry in below for folder in folders(entry)]


def is_set(path):
    return (path / CORPUS).is_file() or (
        (path / QUESTIONS).is_file() and (path / CORPUS_FOLDER).is_dir()
    )


def read_scope(path, root):
    documents = read_documents(path)
    known = {document.id for document in documents}
    questions = {}
    for row in lines(path / QUESTIONS):
        meta = row.get("meta") or {}
        exclude = frozenset(meta.get("sources") or ())
        questions[row["id"]] = Question(row["id"], row["text"], exclude, bool(meta.get("must")))
    labels = path / LABELS
    for question, document, grade in rows(labels) if labels.is_file() else ():
        asked = questions.get(question)
        is_possible = asked and document in known and document not in asked.exclude
        if is_possible and grade.isdigit() and int(grade) > 0:
            asked.is_labelled = True
    name = path.name if path == root else f"{root.name}/{path.relative_to(root).as_posix()}"
    return Scope(name, documents, list(questions.values()))


def read_documents(path):
    if (path / CORPUS).is_file():
        return [
            Document(row["id"], row.get("title") or "", row["text"]) for row in lines(path / CORPUS)
        ]
    root = path / CORPUS_FOLDER
    documents = []
    for file in sorted(root.rglob("*")):
        below = file.relative_to(root)
        is_hidden = any(part.startswith(".") for part in below.parts)
        if is_hidden or not file.is_file() or file.suffix.lower() in TABLES:
            continue
        try:
            text = file.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        documents.append(Document(below.as_posix(), markdown.title(text) or file.stem, text))
    return documents


def lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def rows(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.strip():
                yield line.rstrip("\r\n").split("\t")
