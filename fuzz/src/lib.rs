//! What the targets of readers share: a file is read, and what it gives keeps the promises of a part.

use std::collections::BTreeSet;
use std::io::Cursor;

use haversack_reader::limits::PART_BYTES_MAX;
use haversack_reader::{Part, PartSink, ReadOutput, SourceFile, find_reader};

/// Reads bytes as a file of this name, if a reader takes it. It may fail, but not panic.
pub fn read(name: &str, bytes: &[u8]) {
    let mut input = Cursor::new(bytes);
    let mut source = SourceFile::new(name, &mut input).expect("bytes in memory have a length");
    let head = source.head().expect("bytes in memory can be read");
    let Some(reader) = find_reader(&head) else { return };
    let mut keys = BTreeSet::new();
    let mut take = |output| {
        if let ReadOutput::Part(part) = output {
            check(&part, &keys);
            assert!(keys.insert(part.key.clone()), "{:?} is there twice", part.key);
        }
        Ok(())
    };
    // What cannot be read is a failure, which is an answer.
    let _ = (reader.read)(&mut source, &mut PartSink::new(&mut take));
}

fn check(part: &Part, before: &BTreeSet<String>) {
    if let Some(parent) = &part.parent {
        assert!(before.contains(parent), "{parent:?} is not there before {:?}", part.key);
    }
    assert!(!part.key.chars().any(char::is_control), "{:?}", part.key);
    assert!(!part.kind.is_empty() && part.body.len() <= PART_BYTES_MAX);
    assert!(part.pages.is_sorted());
}
