"""Checks of what the bench itself computes: `python -m unittest bench.peers.tests`."""

import unittest

import numpy as np

from . import compare, harness, markdown, sets
from .adapters import controls
from .peer import Piece

PAGE = """\
---
title: Setup
---

Intro.

# Setup

## Install

Run this:

```sh
# no heading

make
```

### Options

| a | b |
| - | - |
| 1 | 2 |
"""


class Parts(unittest.TestCase):
    def setUp(self):
        self.pieces = [Piece("a", 10, "Title\n", "first body"), Piece("b", 0, "", "second body")]
        self.text = "\n\n".join(piece.text for piece in self.pieces)

    def test_parts_are_places_in_documents(self):
        parts, n_unplaced = harness.place_parts(self.text, len(self.text), self.pieces)
        self.assertEqual(parts[0], {"doc": "a", "start": 10, "end": 20})
        self.assertEqual(parts[1], {"doc": "b", "start": 0, "end": 11})
        self.assertEqual(n_unplaced, 0)

    def test_what_lies_beyond_the_budget_is_no_part(self):
        visible = self.text.index("body", 15) - 1
        parts, _ = harness.place_parts(self.text, visible, self.pieces)
        self.assertEqual(parts[-1], {"doc": "b", "start": 0, "end": len("second")})

    def test_a_piece_that_was_cut_counts_as_far_as_it_goes(self):
        body = "a long body that a packer cuts in the middle"
        parts, _ = harness.place_parts(body[:30] + "…", 31, [Piece("a", 5, "", body)])
        self.assertEqual(parts, [{"doc": "a", "start": 5, "end": 35}])

    def test_a_piece_that_is_not_there_is_counted(self):
        parts, n_unplaced = harness.place_parts("other", 5, self.pieces[:1])
        self.assertEqual((parts, n_unplaced), ([], 1))


class Sections(unittest.TestCase):
    def test_sections_begin_at_headings_and_not_in_code(self):
        found = [PAGE[section.start : section.end] for section in markdown.sections(PAGE)]
        self.assertEqual(len(found), 3)
        # A heading without text stays with the section below it.
        self.assertTrue(found[1].startswith("# Setup\n\n## Install"))
        self.assertTrue(found[2].startswith("### Options"))
        self.assertEqual("".join(found), PAGE)

    def test_pieces_stand_in_their_document_under_its_headings(self):
        document = sets.Document("page.md", markdown.title(PAGE), PAGE)
        pieces = list(controls.section_pieces(document))
        harness.check_places(pieces, [document])
        self.assertEqual([piece.head for piece in pieces], ["Setup\n", "Setup\n", "Setup > Install\n"])

    def test_long_sections_are_split_at_paragraphs(self):
        text = "\n\n".join(f"Paragraph {number}. " + "word " * 90 for number in range(12))
        document = sets.Document("page", "", text)
        pieces = list(controls.section_pieces(document))
        harness.check_places(pieces, [document])
        self.assertEqual(len(pieces), 3)
        self.assertTrue(all(piece.body.startswith("Paragraph") for piece in pieces))


class Choice(unittest.TestCase):
    def test_questions_are_spread_evenly(self):
        self.assertEqual(sets.spread(list(range(10)), 3), [3, 6, 9])
        self.assertEqual(sets.spread(list(range(3)), 5), [0, 1, 2])


class Differences(unittest.TestCase):
    def scores(self, values):
        rows = [
            {
                "set": "s",
                "id": str(number),
                "labelled": True,
                "packs": {"512": {"evidence": value, "broken": 0}},
            }
            for number, value in enumerate(values)
        ]
        return compare.Scores(rows)

    def test_the_interval_holds_the_difference(self):
        generator = np.random.default_rng(1)
        ours, peer = generator.random(200), generator.random(200) - 0.2
        scores = {"haversack": self.scores(ours), "peer": self.scores(peer)}
        found = compare.differences("s", scores, "haversack", ["peer"], [512])
        entry = found["peer"]["evidence"]["512"]
        gaps = ours - peer
        self.assertAlmostEqual(entry["by"], gaps.mean(), places=5)
        spread = 1.96 * gaps.std() / len(gaps) ** 0.5
        self.assertAlmostEqual(entry["low"], gaps.mean() - spread, delta=0.01)
        self.assertAlmostEqual(entry["high"], gaps.mean() + spread, delta=0.01)

    def test_questions_without_the_label_are_left_out(self):
        scores = self.scores([1.0, None, 0.0])
        self.assertEqual(scores.mean("evidence", 512), 0.5)

    def test_the_best_peer_is_the_best_on_that_set(self):
        scores = {"a": self.scores([0.1]), "b": self.scores([0.3]), "c": self.scores([0.2])}
        self.assertEqual(compare.best(scores, ["a", "b", "c"], "evidence", 512), "b")


if __name__ == "__main__":
    unittest.main()
