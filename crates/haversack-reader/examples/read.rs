//! Prints each output of the reader of a file as one line of JSON.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::fs::File;

use haversack_reader::{PartSink, ReadOutput, SourceFile, find_reader};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: read FILE")?;
    let mut file = File::open(&path)?;
    let mut source = SourceFile::new(&path, &mut file)?;
    let reader = find_reader(&source.head()?).ok_or("no reader takes this file")?;
    let mut print = |output: ReadOutput| {
        println!("{}", serde_json::to_string(&output).unwrap_or_default());
        Ok(())
    };
    (reader.read)(&mut source, &mut PartSink::new(&mut print))?;
    Ok(())
}
