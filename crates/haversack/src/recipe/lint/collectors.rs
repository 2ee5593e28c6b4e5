//! Checks for collectors that find nothing, or need a field that requests seldom have.

use haversack_core::text::spelling::edits;

use super::Lint;
use crate::collect::{RequestField, table};
use crate::recipe::{CollectorSpec, LayerSpec, Shape};

const fn name_of(field: RequestField) -> &'static str {
    match field {
        RequestField::Focus => "a focus",
        RequestField::History => "a conversation",
        RequestField::Situation => "a situation",
        RequestField::User => "a user",
    }
}

/// The fields that requests of a shape usually have. `Sections` takes any request.
const fn fields(shape: Shape) -> &'static [RequestField] {
    use RequestField::{Focus, History, Situation, User};
    match shape {
        Shape::Sections => &[Focus, History, Situation, User],
        Shape::Proposal | Shape::Prime | Shape::Memory => &[User, History],
        Shape::Workspace => &[Focus, History, User],
        Shape::Situation => &[Situation, User, History],
    }
}

/// The request field without which the collector finds nothing.
fn needed_field(collector: &CollectorSpec) -> Option<RequestField> {
    match collector.by.as_str() {
        "newest" if collector.settings.text("of") == "focus" => Some(RequestField::Focus),
        by => table::find(by)?.needs,
    }
}

pub(super) fn check(lint: &mut Lint<'_>) {
    for layer in &lint.recipe.layers {
        for (index, collector) in layer.collect.iter().enumerate() {
            let path = format!("layer.{}.collect.{index}", layer.name);
            check_kinds(lint, &path, collector);
            check_reach(lint, &path, layer, collector);
            check_needs(lint, &path, collector);
        }
    }
}

/// Reports kinds that are nearly spelled like a known one, and singletons of kinds with many items.
fn check_kinds(lint: &mut Lint<'_>, path: &str, collector: &CollectorSpec) {
    let path = format!("{path}.kinds");
    for kind in &collector.kinds {
        let name = kind.as_str();
        let near = lint.kinds.all().iter().find(|spec| (1..=2).contains(&edits(name, &spec.name)));
        match (lint.kinds.find(kind), near) {
            (None, Some(near)) if name.len() > 4 => {
                let message = format!("{name} is no known kind, but {} is", near.name);
                lint.remark(&path, message, "a kind of one's own may be called anything");
            }
            (Some(spec), _) if collector.by == "singleton" && !spec.single => {
                let message = format!("there may be many items of the kind {name}; one is shown");
                lint.warn(&path, message, "use newest with of = \"workspace\" to show several");
            }
            _ => {}
        }
    }
}

fn check_reach(lint: &mut Lint<'_>, path: &str, layer: &LayerSpec, collector: &CollectorSpec) {
    let settings = &collector.settings;
    let name = &layer.name;
    match collector.by.as_str() {
        "expand" if layer.collect.iter().all(|other| other.by == "expand") => {
            let message =
                format!("layer {name}: expand starts from what others find, and it is alone");
            lint.error(path, message, "put it beside another collector of the layer");
        }
        "expand" if settings.count("depth") == 0 => {
            let message = format!("layer {name}: expand with a depth of 0 finds nothing");
            lint.remark(path, message, "unless a request asks for a depth of its own");
        }
        "hybrid" if settings.number("text") + settings.number("vector") <= 0.0 => {
            let message = format!("layer {name}: words and meaning count for nothing in hybrid");
            lint.warn(path, message, "give text or vector a weight");
        }
        "activity" if settings.count("edits") + settings.count("views") == 0 => {
            let message = format!("layer {name}: activity is told to find no edits and no views");
            lint.warn(path, message, "raise edits or views, or take it away");
        }
        _ => {}
    }
}

fn check_needs(lint: &mut Lint<'_>, path: &str, collector: &CollectorSpec) {
    let Some(needed) = needed_field(collector) else { return };
    if fields(lint.recipe.shape).contains(&needed) {
        return;
    }
    let message = format!(
        "{} needs {}, which requests of this shape seldom bring",
        collector.by,
        name_of(needed)
    );
    lint.remark(path, message, "without it, it finds nothing");
}
