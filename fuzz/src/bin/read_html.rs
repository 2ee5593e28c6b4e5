//! Web pages: any bytes are read without a panic.
#![no_main]

use haversack_fuzz::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read("a.html", bytes);
});
