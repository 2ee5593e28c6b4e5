//! Parses the template of a layer: by name, or written out.

use haversack_core::assemble::{Template, TemplateError, TemplateText};

use crate::recipe::TemplateSpec;
use crate::recipe::keys::{self, InlineTemplate, KeyReader, names, read_values};
use crate::recipe::read::hint;

/// Reads the template of a layer.
pub(in crate::recipe) fn read(key: &mut KeyReader<'_, '_, '_>) -> Option<TemplateSpec> {
    let value = key.table.get(key.name)?.get_ref();
    if value.is_table() {
        return read_inline(key);
    }
    if !value.is_str() {
        key.report("must be a template's name, or a table with an item");
        return None;
    }
    let name = key.line()?;
    let names = key.registry.template_names();
    if names.contains(&name) {
        return Some(TemplateSpec::Named(name));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hint = hint(&name, &names, "there are");
    key.report(&format!("is {name:?}, which is not there{hint}"));
    None
}

fn read_inline(key: &mut KeyReader<'_, '_, '_>) -> Option<TemplateSpec> {
    let table = key.inner_table()?;
    let reader = &mut *key.reader;
    reader.check_keys(&table, &names(keys::TEMPLATE), "there are");
    let before = reader.problem_count();
    let mut template = InlineTemplate::default();
    read_values(reader, &table, key.registry, keys::TEMPLATE, &mut template);
    if !table.has("item") {
        let message = "is missing; say how one text looks, such as \"{{content}}\"";
        reader.report_key(&table, "item", message);
    }
    if reader.problem_count() > before {
        return None;
    }
    let InlineTemplate { header, item, separator, footer, empty } = template;
    // Each part is checked alone, so that each error has its position and none hides another.
    let plain = TemplateText::PLAIN;
    let alone = |header, item, footer| TemplateText { header, item, footer, ..plain };
    for (name, text) in [
        ("header", alone(&header, plain.item, "")),
        ("item", alone("", &item, "")),
        ("footer", alone("", plain.item, &footer)),
    ] {
        if let Err(error) = Template::new(text) {
            reader.report_key(&table, name, &format!("cannot be used: {}", with_nearest(&error)));
        }
    }
    let is_usable = reader.problem_count() == before;
    is_usable.then_some(TemplateSpec::Inline { header, item, separator, footer, empty })
}

/// The template's error, with the nearest variable where one is unknown.
fn with_nearest(error: &TemplateError) -> String {
    match error {
        TemplateError::UnknownVariable { name, known, .. } => {
            let known: Vec<&str> = known.split(", ").collect();
            match haversack_core::text::spelling::nearest(name, known.iter().map(|&k| (k, k)))
                .first()
            {
                Some(near) => format!("{error}; perhaps {near}"),
                None => error.to_string(),
            }
        }
        _ => error.to_string(),
    }
}
