//! Parses reserves, and the model or tokenizer that counts tokens.

use haversack_core::text::model;
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, Tokenizer};

use crate::recipe::keys::{KeyReader, tokens};
use crate::recipe::read::hint;
use crate::recipe::{CountingSpec, Recipe};

/// Adds reserves to those of the base; a reserve with the same name is replaced.
pub(in crate::recipe) fn apply_reserves(key: &mut KeyReader<'_, '_, '_>, recipe: &mut Recipe) {
    let Some(table) = key.inner_table() else { return };
    for (name, at, _) in table.entries() {
        key.reader.record_place(format!("{}.{name}", table.path), at);
        let Some(size) = tokens(key.reader, &table, name) else { continue };
        let reserves = &mut recipe.budget.reserves;
        match reserves.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = size,
            None => reserves.push((name.to_owned(), size)),
        }
    }
}

pub(in crate::recipe) fn read_model(key: &mut KeyReader<'_, '_, '_>) -> Option<CountingSpec> {
    let name = key.line()?;
    match model::find(&name) {
        Ok(_) => Some(CountingSpec::Model(name)),
        Err(error) => {
            key.report(&format!("names an {error}"));
            None
        }
    }
}

pub(in crate::recipe) fn read_tokenizer(key: &mut KeyReader<'_, '_, '_>) -> Option<CountingSpec> {
    if key.is_set() && key.table.has("model") {
        key.report("and model are both set; the model has its tokenizer");
    }
    let name = key.line()?;
    let mut names: Vec<String> = Encoding::ALL.iter().map(|e| e.name().to_owned()).collect();
    names.push(CharacterEstimate.name().to_owned());
    if names.contains(&name) {
        return Some(CountingSpec::Tokenizer(name));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hint = hint(&name, &names, "there are");
    key.report(&format!("is {name:?}, which is not known{hint}"));
    None
}
