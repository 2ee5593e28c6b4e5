//! How a layer looks: a template by name, or written out.

use haversack_core::assemble::{TEMPLATE_BYTES_MAX, Template, TemplateError, TemplateText};

use super::LINE_BYTES_MAX;
use crate::recipe::read::{Reader, Table, hint};
use crate::recipe::{Known, LayerSpec, TemplateSpec, keys};

pub(super) fn apply(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    known: &Known,
    layer: &mut LayerSpec,
) {
    let Some(value) = table.get("template") else { return };
    if value.get_ref().is_table() {
        if let Some(table) = reader.table(table, "template", "template")
            && let Some(template) = written_out(reader, &table)
        {
            layer.template = template;
        }
        return;
    }
    if !value.get_ref().is_str() {
        reader.wrong_in(table, "template", "must be a template's name, or a table with an item");
        return;
    }
    let Some(name) = reader.text(table, "template", LINE_BYTES_MAX) else { return };
    let names = known.template_names();
    if names.iter().any(|known| known == name) {
        layer.template = TemplateSpec::Named(name.to_owned());
    } else {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = hint(name, &names, "there are");
        reader.wrong_in(table, "template", &format!("is {name:?}, which is not there{hint}"));
    }
}

fn written_out(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<TemplateSpec> {
    reader.keys(table, keys::TEMPLATE);
    let before = reader.problem_count();
    let mut text = |key| reader.text(table, key, TEMPLATE_BYTES_MAX);
    let (header, item, separator, footer, empty) =
        (text("header"), text("item"), text("separator"), text("footer"), text("empty"));
    if !table.has("item") {
        reader.wrong_in(
            table,
            "item",
            "is missing; say how one text looks, such as \"{{content}}\"",
        );
    }
    if reader.problem_count() > before {
        return None;
    }
    let plain = TemplateText::PLAIN;
    let text = TemplateText {
        header: header.unwrap_or(plain.header),
        item: item.unwrap_or(plain.item),
        separator: separator.unwrap_or(plain.separator),
        footer: footer.unwrap_or(plain.footer),
        empty,
    };
    // One part after the other, so that each error has its place and none hides the next.
    let alone = |header, item, footer| TemplateText { header, item, footer, ..plain };
    for (key, text) in [
        ("header", alone(text.header, plain.item, "")),
        ("item", alone("", text.item, "")),
        ("footer", alone("", plain.item, text.footer)),
    ] {
        if let Err(error) = Template::new(text) {
            reader.wrong_in(table, key, &format!("cannot be used: {}", told(&error)));
        }
    }
    (reader.problem_count() == before).then(|| TemplateSpec::Inline {
        header: text.header.to_owned(),
        item: text.item.to_owned(),
        separator: text.separator.to_owned(),
        footer: text.footer.to_owned(),
        empty: text.empty.map(str::to_owned),
    })
}

/// The template's own error, with the nearest variable where one is meant.
fn told(error: &TemplateError) -> String {
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
