//! What the targets of readers share: a file is read, and what it gives keeps the promises of a part.

use std::collections::BTreeSet;
use std::io::Cursor;

use haversack_reader::limits::PART_BYTES_MAX;
use haversack_reader::{Part, PartSink, ReadOutput, find_reader, with_source};

/// Reads bytes as a file of this name, if a reader takes it. It may fail, but not panic.
pub fn read(name: &str, bytes: &[u8]) {
    let mut keys = BTreeSet::new();
    let mut take = |output| {
        if let ReadOutput::Part(part) = output {
            check(&part, &keys);
            assert!(keys.insert(part.key.clone()), "{:?} is there twice", part.key);
        }
        Ok(())
    };
    // What cannot be read is a failure, which is an answer.
    let _ = with_source(name, &mut Cursor::new(bytes), |source| {
        let Some(reader) = find_reader(&source.head()?) else { return Ok(()) };
        (reader.read)(source, &mut PartSink::new(&mut take))
    });
}

fn check(part: &Part, before: &BTreeSet<String>) {
    if let Some(parent) = &part.parent {
        assert!(before.contains(parent), "{parent:?} is not there before {:?}", part.key);
    }
    assert!(!part.key.chars().any(char::is_control), "{:?}", part.key);
    assert!(!part.kind.is_empty() && part.body.len() <= PART_BYTES_MAX);
    assert!(part.pages.is_sorted());
}
