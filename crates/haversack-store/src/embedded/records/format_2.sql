-- What ranking needs of a chunk's text, made when it is written; NULL until it was made.
ALTER TABLE chunks ADD COLUMN features BLOB;
