"""Training texts out of registry packages: prose, definitions, conversation, docstrings and code.

Every function yields plain strings in a fixed order. What is chosen depends only on the packages.
"""

import ast
import hashlib
import json
import re
import tarfile

WORDS_MIN = 4
WORDS_MAX = 90
LETTERS_SHARE_MIN = 0.62
FILE_BYTES_MAX = 20_000_000

ROLE = re.compile(r":[\w:+.-]+:`([^`<]*?)\s*(?:<[^`]*>)?`")
HYPERLINK = re.compile(r"`([^`<]+?)\s*<[^`]*>`_{1,2}|\[([^\]]+)\]\([^)]*\)")
MARKS = re.compile(r"``|`|\*\*|\||__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[A-Z\"'(])")
RULE = re.compile(r"^([=\-~^\"'#*+.:_`])\1{3,}$")


def plain(text):
    """Text without the marks of reStructuredText and Markdown, in one line."""
    text = ROLE.sub(r"\1", text)
    text = HYPERLINK.sub(lambda match: match.group(1) or match.group(2), text)
    text = MARKS.sub("", text)
    return " ".join(text.split())


def is_prose(text, words_min=WORDS_MIN):
    words = text.split()
    if not words_min <= len(words):
        return False
    letters = sum(c.isalpha() or c == " " for c in text)
    return letters / len(text) >= LETTERS_SHARE_MIN and text.isascii()


def pieces(text):
    """A text as it is if it is short, else in runs of whole sentences."""
    words = text.split()
    if len(words) <= WORDS_MAX:
        yield text
        return
    run, length = [], 0
    for sentence in SENTENCE_END.split(text):
        size = len(sentence.split())
        if run and length + size > WORDS_MAX:
            yield " ".join(run)
            run, length = [], 0
        run.append(sentence)
        length += size
    yield " ".join(" ".join(run).split()[:WORDS_MAX])


def documentation(text):
    """Headings and paragraphs of reStructuredText, Markdown or plain text; code is left out."""
    fenced = False
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        if block.count("```") % 2:
            fenced = not fenced
            continue
        lines = block.split("\n")
        first = lines[0]
        if fenced or "```" in block or first.startswith((".. ", "::", "    ", "\t", ">>>", "$ ", "<")):
            continue
        if any(RULE.match(line.strip()) for line in lines) or first.startswith("#"):
            heading = plain(" ".join(l for l in lines[:3] if not RULE.match(l.strip())).lstrip("# "))
            if is_prose(heading, 2) and len(heading.split()) <= 14:
                yield heading
            continue
        block = plain(re.sub(r"^\s*(?:[-*+]|#?\d*\.)\s+", "", block))
        if is_prose(block):
            yield from pieces(block)


def docstrings_and_code(source):
    """Docstrings as prose, and the beginnings of functions as code."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = source.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            continue
        doc = ast.get_docstring(node)
        if not doc:
            continue
        first = plain(doc.split("\n\n")[0])
        if is_prose(first):
            yield "doc", " ".join(first.split()[:WORDS_MAX])
        if isinstance(node, ast.FunctionDef):
            code = "\n".join(lines[node.lineno - 1:node.end_lineno])
            if code.isascii() and 60 <= len(code) <= 1500:
                yield "code", code[:360]


def read(archive, endings, skip=()):
    """(path, text) of the files of a tar archive, by path."""
    with tarfile.open(archive) as tar:
        members = [m for m in tar.getmembers() if m.isfile() and m.name.endswith(endings)]
        members = [m for m in members if not any(word in m.name.lower() for word in skip)]
        for member in sorted(members, key=lambda m: m.name):
            if 200 <= member.size <= FILE_BYTES_MAX:
                yield member.name, tar.extractfile(member).read().decode("utf-8", "replace")


def package(archive):
    """Documentation, docstrings and code of a Python package."""
    skip = ("license", "copying", "changelog", "whatsnew", "whats_new", "release", "/tests/",
            "/test/", "locale", "requirements", "egg-info", "_vendor", "contributors", "authors",
            "/data/", "cmakelists", "entry_points", "sources.txt", "vendor", "extern", "third_party",
            "submodules", "subprojects", "node_modules", "bundled")
    docs, strings, code = [], [], []
    for _, text in read(archive, (".rst", ".md", ".txt"), skip):
        docs.extend(documentation(text))
    for _, text in read(archive, (".py",), skip):
        for kind, piece in docstrings_and_code(text):
            (strings if kind == "doc" else code).append(piece)
    return {"docs": docs, "docstrings": strings, "code": code}


def interface(archive):
    """What an application says to people at home: labels, hints and questions."""
    def walk(value):
        if isinstance(value, dict):
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, str):
            yield value

    found = []
    for _, text in read(archive, ("strings.json",)):
        for value in walk(json.loads(text)):
            value = plain(re.sub(r"\[%key.*?%\]|\{[^}]*\}", "", value))
            if is_prose(value):
                found.extend(pieces(value))
    return {"interface": found}


def wordnet(archive):
    """Definitions with the words they define, and the examples."""
    glosses, examples, names = [], [], []
    for _, text in read(archive, ("data.noun", "data.verb", "data.adj", "data.adv")):
        for line in text.split("\n"):
            if line.startswith("  ") or "|" not in line:
                continue
            head, gloss = line.split("|", 1)
            fields = head.split()
            count = int(fields[3], 16)
            words = [re.sub(r"\(\w+\)$", "", w).replace("_", " ") for w in fields[4:4 + 2 * count:2]]
            definition = " ".join(re.sub(r'"[^"]*"', "", gloss).strip(" ;\n").split())
            examples += [e for e in re.findall(r'"([^"]+)"', gloss) if is_prose(e, 3)]
            names += [word for word in words if " " in word]
            if is_prose(definition, 2):
                glosses.append(f"{', '.join(words[:3])}: {definition}")
    return {"definitions": glosses, "examples": examples, "names": names}


def book(archive):
    """Prose of a book or a speech, as paragraphs and as sentences."""
    paragraphs, sentences = [], []
    for path, text in read(archive, (".json", ".txt"), ("package.json", "/lib/", "manifest")):
        year = re.search(r"(\d{4})\.(?:txt|json)$|/(\d{4})_", path)
        if year and int(year.group(1) or year.group(2)) > 2000:
            continue
        if path.endswith(".json"):
            value = json.loads(text)
            values = value if isinstance(value, list) else [value]
            text = "\n\n".join(v if isinstance(v, str) else str(v.get("text", "")) for v in values)
        text = text.replace("\u2019", "'").replace("\u201c", '"').replace("\u201d", '"')
        for block in re.split(r"\n\s*\n", text.replace("--", " - ")):
            block = " ".join(block.split())
            if not is_prose(block):
                continue
            paragraphs.extend(pieces(block))
            sentences.extend(s for s in SENTENCE_END.split(block) if is_prose(s) and len(s.split()) <= 40)
    return {"paragraphs": paragraphs, "sentences": sentences}


def conversation(archive):
    """Turns of small talk and trivia."""
    turns = []
    for path, text in read(archive, (".yml",)):
        if "/english/" in path:
            turns += [plain(t) for t in re.findall(r"^\s*-\s+(?:-\s+)?(.+)$", text, re.M)]
    return {"turns": [turn for turn in turns if is_prose(turn, 2)]}


READERS = {"package": package, "interface": interface, "wordnet": wordnet, "book": book,
           "conversation": conversation}


def place(text):
    """A fixed number for a text: choices by it hardly change when a package comes or goes."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def first(texts, limit):
    """At most `limit` texts, without repetition, by their places."""
    return sorted(set(texts), key=lambda text: (place(text), text))[:limit]


def questions(strings, definitions):
    """Short requests in the words of people who search, made from what answers them."""
    about_code = ["how to {}", "python {}", "{} in python", "how do i {}?", "function to {}"]
    about_words = ["what is {}", "what does {} mean?", "{}", "tell me about {}", "who is {}?"]
    for text in strings:
        start = SENTENCE_END.split(text)[0].rstrip(".").lower()
        if 3 <= len(start.split()) <= 12:
            yield about_code[place(start) % len(about_code)].format(start)
    for text in definitions:
        word = text.split(": ", 1)[0].split(", ")[0]
        yield about_words[place(word) % len(about_words)].format(word)


def choose(kinds, shares):
    """At most `shares[kind]` texts of each kind."""
    asked = questions(first(kinds["docstrings"], 15_000), first(kinds["definitions"], 15_000))
    kinds = {**kinds, "questions": list(asked)}
    chosen = {text for kind, limit in shares.items() for text in first(kinds[kind], limit)}
    return first(chosen, len(chosen))
