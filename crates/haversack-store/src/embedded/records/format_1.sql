-- A commit makes one state. Every version of an item, and every link, knows the commit that made
-- it (born) and the one that ended it (died), so any state can be read at any time.
CREATE TABLE commits (
  revision INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  author TEXT,
  origin TEXT
) STRICT;
CREATE INDEX commits_by_origin ON commits (origin, revision) WHERE origin IS NOT NULL;
CREATE INDEX commits_by_time ON commits (at, revision);

-- Settings of the workspace: its model, and the newest revision that history was trimmed at.
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- Names. A node is an item over all its versions.
CREATE TABLE nodes (
  node INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE
) STRICT;

-- Lists of readers, each kept once. Number 0 stands for everyone and has no row here.
CREATE TABLE lists (
  list INTEGER PRIMARY KEY,
  principals TEXT NOT NULL UNIQUE
) STRICT;

-- Versions of items. Numbers are never used again, since the indexes know rows by them.
-- readers: the item's own list, NULL to inherit. list: the list that counts, kept up to date.
-- text: what is searched and shown, when it is more than the body.
CREATE TABLE items (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  node INTEGER NOT NULL REFERENCES nodes,
  born INTEGER NOT NULL,
  died INTEGER,
  kind TEXT NOT NULL,
  parent INTEGER REFERENCES nodes,
  position INTEGER NOT NULL,
  created INTEGER,
  updated INTEGER NOT NULL,
  confidence REAL,
  readers INTEGER,
  list INTEGER NOT NULL,
  trust INTEGER NOT NULL,
  active INTEGER NOT NULL,
  language TEXT NOT NULL,
  hash BLOB NOT NULL,
  author TEXT,
  path TEXT,
  title TEXT NOT NULL,
  fields TEXT,
  body TEXT NOT NULL,
  text TEXT
) STRICT;
CREATE INDEX items_by_node ON items (node, born);
CREATE INDEX items_alive ON items (list, row) WHERE died IS NULL;
CREATE INDEX items_by_kind ON items (kind, updated, confidence);
CREATE INDEX items_by_time ON items (updated);
CREATE INDEX items_not_active ON items (row) WHERE active = 0;
CREATE INDEX items_by_parent ON items (parent, position) WHERE parent IS NOT NULL;
CREATE INDEX items_by_path ON items (path) WHERE path IS NOT NULL;
CREATE INDEX items_by_author ON items (author, born) WHERE author IS NOT NULL;
CREATE INDEX items_by_birth ON items (born);

-- Searchable pieces of a version's text. hash: of the text that was embedded.
CREATE TABLE chunks (
  row INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
  chunk INTEGER NOT NULL,
  start INTEGER NOT NULL,
  stop INTEGER NOT NULL,
  line_first INTEGER NOT NULL,
  line_last INTEGER NOT NULL,
  headings TEXT,
  hash BLOB NOT NULL,
  PRIMARY KEY (row, chunk)
) STRICT, WITHOUT ROWID;

-- Vectors in half precision, one for each text and model, whoever wrote the text.
CREATE TABLE embeddings (
  embedding INTEGER PRIMARY KEY,
  model INTEGER NOT NULL,
  hash BLOB NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX embeddings_by_text ON embeddings (hash, model);

CREATE TABLE models (
  model INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  UNIQUE (name, version, dimensions)
) STRICT;

CREATE TABLE links (
  source INTEGER NOT NULL REFERENCES nodes,
  target INTEGER NOT NULL REFERENCES nodes,
  sort TEXT NOT NULL,
  born INTEGER NOT NULL,
  died INTEGER,
  PRIMARY KEY (source, sort, target, born)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target, sort, source);

CREATE TABLE events (
  event INTEGER PRIMARY KEY,
  node INTEGER NOT NULL REFERENCES nodes,
  user TEXT NOT NULL,
  happening TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

-- What events add up to.
CREATE TABLE usage (
  node INTEGER NOT NULL REFERENCES nodes,
  user TEXT NOT NULL,
  happening TEXT NOT NULL,
  count INTEGER NOT NULL,
  last INTEGER NOT NULL,
  PRIMARY KEY (node, user, happening)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_user ON usage (user, happening, last);

CREATE TABLE records (
  shelf TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (shelf, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_by_age ON records (shelf, at);
