//! Exports of conversations and memories, which are told apart by their content, and transcripts.
#![no_main]

use haversack_fuzz::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for name in ["a.json", "a.jsonl", "a.txt", "a.vtt", "a.srt"] {
        read(name, bytes);
    }
});
