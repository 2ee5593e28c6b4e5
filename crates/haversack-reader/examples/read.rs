//! Prints each output of the reader of a file as one line of JSON.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::fs::File;

use haversack_reader::{PartSink, ReadFailure, ReadOutput, find_reader, with_source};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: read FILE")?;
    let mut file = File::open(&path)?;
    let mut print = |output: ReadOutput| {
        println!("{}", serde_json::to_string(&output).unwrap_or_default());
        Ok(())
    };
    with_source(&path, &mut file, |source| {
        let none = || ReadFailure::Unsupported { what: "no reader takes this file".to_owned() };
        let reader = find_reader(&source.head()?).ok_or_else(none)?;
        (reader.read)(source, &mut PartSink::new(&mut print))
    })?;
    Ok(())
}
