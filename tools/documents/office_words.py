#!/usr/bin/env python3
"""Measures how many words of office documents the readers find, beside LibreOffice.

    cargo build -p haversack-reader --example read
    tools/documents/office_words.py target/debug/examples/read FILE...

LibreOffice writes each file as text (documents), as CSV (spreadsheets), or as text by way of a PDF
(slides, with pdftotext); the share of its words that the reader gives as well is printed for each
file, then the mean and the lowest. Words that LibreOffice leaves out are not counted.
"""

import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SHEETS = {".xlsx", ".xlsm", ".xls", ".ods"}
SLIDES = {".pptx", ".odp"}


def words(text):
    """The words of a text, in lower case, with their counts. Soft hyphens join."""
    text = text.replace("\u00ad", "").replace("\u200b", "").lower()
    # LibreOffice shows the truth values of some formats as numbers.
    same = {"true": "1", "false": "0"}
    return collections.Counter(same.get(word, word) for word in re.findall(r"\w+", text))


def convert(file, to, folder):
    """Converts a file with LibreOffice and returns the new files."""
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile",
               "--convert-to", to, "--outdir", f"{folder}/out", str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    return sorted(pathlib.Path(folder, "out").iterdir())


def reference(file, folder):
    """The text of a file as LibreOffice has it."""
    if file.suffix in SLIDES:
        (pdf,) = convert(file, "pdf", folder)
        command = ["pdftotext", "-layout", str(pdf), "-"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    elif file.suffix in SHEETS:
        # Every sheet into a file of its own, values as they are stored, not as they are shown.
        to = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1'
        sheets = convert(file, to, folder)
        rows = [row for sheet in sheets for row in csv.reader(sheet.open(encoding="utf-8"))]
        text = "\n".join(" ".join(row) for row in rows)
    else:
        (text,) = convert(file, "txt:Text (encoded):UTF8", folder)
        text = text.read_text(encoding="utf-8-sig")
    for made in pathlib.Path(folder, "out").iterdir():
        made.unlink()
    return text


def given(reader, file):
    """The text and the values that the reader gives."""
    done = subprocess.run([reader, str(file)], check=True, capture_output=True, text=True)
    text = []
    for line in done.stdout.splitlines():
        part = json.loads(line).get("part")
        if part:
            text += [part["title"], part["body"]]
    return "\n".join(text)


def main():
    reader, files = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    shares = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            wanted, found = words(reference(file, folder)), words(given(reader, file))
            count = sum(wanted.values())
            if count == 0:
                print(f"   -   {file.name}: no words")
                continue
            missing = wanted - found
            share = 1 - sum(missing.values()) / count
            shares[file.suffix].append(share)
            some = " ".join(word for word, _ in missing.most_common(8))
            print(f"{share:.3f}  {file.name}: {count} words{'; missing: ' + some if some else ''}")
    for suffix, all_shares in sorted(shares.items()):
        mean = sum(all_shares) / len(all_shares)
        print(f"{suffix}: {len(all_shares)} files, mean {mean:.3f}, lowest {min(all_shares):.3f}")


if __name__ == "__main__":
    main()
