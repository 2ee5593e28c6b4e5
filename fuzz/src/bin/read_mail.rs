//! E-mail: any bytes are read without a panic, as a message and as a mailbox.
#![no_main]

use haversack_fuzz::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read("a.eml", bytes);
    read("a.mbox", bytes);
});
