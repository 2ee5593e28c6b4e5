-- What ranking needs of a chunk's text, made when it is written; NULL until it was made.
ALTER TABLE chunks ADD COLUMN features BLOB;

-- Who made an item first. They alone, beside the owner of the data, say who reads it.
ALTER TABLE nodes ADD COLUMN owner TEXT;
UPDATE nodes SET owner = (
  SELECT author FROM items WHERE items.node = nodes.node ORDER BY born, row LIMIT 1
);

-- What an item's fields say that questions ask for: due, done, assignee, … A text or a number.
CREATE TABLE facts (
  row INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
  role TEXT NOT NULL,
  number INTEGER,
  text TEXT
) STRICT;
CREATE INDEX facts_by_number ON facts (role, number, row) WHERE number IS NOT NULL;
CREATE INDEX facts_by_text ON facts (role, text, row) WHERE text IS NOT NULL;
CREATE INDEX facts_by_row ON facts (row);
