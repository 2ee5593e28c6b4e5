"""Labelled sets, read as `haversack eval` reads them, and the same choice of questions."""

import json
from dataclasses import dataclass, field


@dataclass
class Document:
    id: str
    title: str
    text: str


@dataclass
class Question:
    id: str
    text: str
    exclude: set
    # By document: its grade, and the characters of each word of its evidence if they are known.
    grades: dict = field(default_factory=dict)
    words: dict = field(default_factory=dict)


@dataclass
class Scope:
    """A corpus that is searched on its own, with its questions."""

    name: str
    documents: list
    questions: list


def read(path, limit):
    """The corpora in a folder, with `limit` questions in all, evenly spread."""
    scopes = [read_scope(folder, path) for folder in folders(path)]
    if not scopes:
        raise SystemExit(f"{path}: there is no corpus.jsonl in it, nor in a folder below it")
    total = sum(len(scope.questions) for scope in scopes)
    if limit and limit < total:
        number = 0
        for scope in scopes:
            kept = []
            for question in scope.questions:
                if number * limit // total != (number + 1) * limit // total:
                    kept.append(question)
                number += 1
            scope.questions = kept
    return [scope for scope in scopes if scope.questions]


def folders(path):
    if (path / "corpus.jsonl").is_file():
        return [path]
    below = sorted(entry for entry in path.iterdir() if entry.is_dir())
    return [folder for entry in below for folder in folders(entry)]


def read_scope(path, root):
    documents = [
        Document(row["id"], row.get("title") or "", row["text"])
        for row in lines(path / "corpus.jsonl")
    ]
    texts = {document.id: document.text for document in documents}
    questions = {}
    for row in lines(path / "queries.jsonl"):
        sources = (row.get("meta") or {}).get("sources") or []
        questions[row["id"]] = Question(row["id"], row["text"], set(sources))
    for question, document, grade in rows(path / "qrels.tsv"):
        asked = questions.get(question)
        is_possible = asked and document in texts and document not in asked.exclude
        if is_possible and grade.lstrip("-").isdigit() and int(grade) > 0:
            asked.grades[document] = int(grade)
    spans = path / "spans.tsv"
    if spans.is_file():
        read_spans(spans, questions, texts)
    labelled = [question for question in questions.values() if question.grades]
    return Scope(str(path.relative_to(root.parent)), documents, labelled)


def read_spans(path, questions, texts):
    table = rows(path)
    columns = {name: place for place, name in enumerate(next(table))}
    for row in table:
        question = questions.get(row[columns["query-id"]])
        document = row[columns["doc-id"]]
        if question and document in question.grades:
            start, end = int(row[columns["start_char"]]), int(row[columns["end_char"]])
            found = question.words.setdefault(document, [])
            found.extend(words(texts[document], start, end))
    for question in questions.values():
        question.words = {name: apart(found) for name, found in question.words.items()}


def words(text, start, end):
    """The stretches without blanks."""
    begin = None
    for at in range(start, end):
        if text[at].isspace():
            if begin is not None:
                yield begin, at
            begin = None
        elif begin is None:
            begin = at
    if begin is not None:
        yield begin, end


def apart(ranges):
    """Sorted ranges with those joined that overlap."""
    joined = []
    for start, end in sorted(ranges):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


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
