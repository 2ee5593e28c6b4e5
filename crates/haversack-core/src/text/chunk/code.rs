//! Source code: items and what is nested in them, by the grammar of the language.
//!
//! Broken code is not an error: the parser recovers and finds fewer items, and the packer falls
//! back to blank lines and lines.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::markdown::line_start;
use super::{OutlineEntry, SplitPoint, Strength, Structure, title};

/// Largest source in bytes that is parsed; a larger one is generated and read by nobody.
const SOURCE_BYTES_MAX: usize = 1 << 20;

/// How many bytes the parser is handed at once.
const READ_BYTES: usize = 4096;

/// How often the parser may read a source over. Ordinary code is read about once; some scanners
/// look ahead over all that is left, again for every line.
const READS_MAX: usize = 64;

/// Bytes for which the parser may take a hundred steps. Ordinary code needs a third of that; error
/// recovery on garbage needs more.
const BYTES_PER_STEPS: usize = 10;

/// Deepest item that is a mark of its own and gives its name to what is in it.
const DEPTH_MAX: u8 = 6;

/// A language whose grammar is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeLanguage {
    /// C and its headers.
    C,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
}

impl CodeLanguage {
    /// Every language.
    pub const ALL: [CodeLanguage; 8] = [
        CodeLanguage::C,
        CodeLanguage::Go,
        CodeLanguage::Java,
        CodeLanguage::JavaScript,
        CodeLanguage::Python,
        CodeLanguage::Rust,
        CodeLanguage::TypeScript,
        CodeLanguage::Tsx,
    ];

    /// The language of files with that extension, in lower case.
    pub(super) fn of_extension(extension: &str) -> Option<CodeLanguage> {
        match extension {
            "c" | "h" => Some(CodeLanguage::C),
            "go" => Some(CodeLanguage::Go),
            "java" => Some(CodeLanguage::Java),
            "cjs" | "js" | "jsx" | "mjs" => Some(CodeLanguage::JavaScript),
            "py" | "pyi" => Some(CodeLanguage::Python),
            "rs" => Some(CodeLanguage::Rust),
            "cts" | "mts" | "ts" => Some(CodeLanguage::TypeScript),
            "tsx" => Some(CodeLanguage::Tsx),
            _ => None,
        }
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            CodeLanguage::C => tree_sitter_c::LANGUAGE,
            CodeLanguage::Go => tree_sitter_go::LANGUAGE,
            CodeLanguage::Java => tree_sitter_java::LANGUAGE,
            CodeLanguage::JavaScript => tree_sitter_javascript::LANGUAGE,
            CodeLanguage::Python => tree_sitter_python::LANGUAGE,
            CodeLanguage::Rust => tree_sitter_rust::LANGUAGE,
            CodeLanguage::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            CodeLanguage::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        }
        .into()
    }
}

/// The marks and the outline of a source; empty when it cannot be parsed.
pub(super) fn structure(text: &str, language: CodeLanguage) -> Structure {
    match parse(text, language) {
        Some(tree) => {
            let mut reader =
                CodeReader { text, structure: Structure::default(), items: Vec::new() };
            reader.walk(&tree);
            reader.structure
        }
        None => Structure::default(),
    }
}

fn parse(text: &str, language: CodeLanguage) -> Option<Tree> {
    if text.len() > SOURCE_BYTES_MAX {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    let bytes = text.as_bytes();
    let reads_left = Cell::new(64 + bytes.len() / READ_BYTES * READS_MAX);
    let mut steps_left = 1_000 + bytes.len() / BYTES_PER_STEPS;
    let mut read = |at: usize, _| {
        reads_left.set(reads_left.get().saturating_sub(1));
        let end = if reads_left.get() == 0 { at } else { bytes.len().min(at + READ_BYTES) };
        bytes.get(at..end).unwrap_or_default()
    };
    let mut progress = |_: &ParseState| {
        // The parser may ask again after it was told to stop.
        steps_left = steps_left.saturating_sub(1);
        match steps_left == 0 || reads_left.get() == 0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.filter(|_| reads_left.get() > 0)
}

/// What is being read of the children of one node.
#[derive(Clone, Copy, Default)]
struct Siblings {
    /// Where the comments and attributes begin that lead up to the next child, and their last row.
    lead: Option<(usize, usize)>,
    /// The row on which the child before ended.
    row_before: Option<usize>,
    /// Where the parent begins, if it is but the wrapper of its first item.
    wrapper: Option<usize>,
}

struct CodeReader<'t> {
    text: &'t str,
    structure: Structure,
    /// Ends of the named items that the walk is inside of, inner after outer; no more than one
    /// past [`DEPTH_MAX`], because every chunk repeats their names.
    items: Vec<usize>,
}

impl CodeReader<'_> {
    /// Visits every node without recursion: nesting is as deep as a stranger's file wants it.
    fn walk(&mut self, tree: &Tree) {
        let mut cursor = tree.walk();
        let mut levels = vec![Siblings::default()];
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            let node = cursor.node();
            let top = levels.len() == 1;
            let start = levels.last_mut().and_then(|siblings| self.visit(node, top, siblings));
            if cursor.goto_first_child() {
                let wrapper = start.filter(|_| is_wrapper(node.kind()));
                levels.push(Siblings { wrapper, ..Siblings::default() });
                continue;
            }
            while !cursor.goto_next_sibling() {
                levels.pop();
                if levels.is_empty() || !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Marks and names a node. Returns where it begins, with what leads up to it.
    fn visit(&mut self, node: Node<'_>, top: bool, siblings: &mut Siblings) -> Option<usize> {
        let row = node.start_position().row;
        let trails = siblings.row_before == Some(row);
        siblings.row_before = Some(node.end_position().row);
        let lead = siblings.lead.take().filter(|&(_, last)| last + 1 >= row);
        let lead = lead.map(|(start, _)| start);
        if is_lead(node.kind()) {
            // A comment behind code belongs to that code.
            if !trails || lead.is_some() {
                let start = lead.unwrap_or_else(|| line_start(self.text, node.start_byte()));
                siblings.lead = Some((start, last_row(node)));
                if top {
                    self.mark(start, Strength::Block);
                }
            }
            return None;
        }
        while self.items.pop_if(|end| *end <= node.start_byte()).is_some() {}
        let depth = u8::try_from(self.items.len()).ok().filter(|&depth| depth <= DEPTH_MAX);
        let name = depth.and_then(|_| name(node, self.text));
        let marked = name.is_some() || top && node.is_named();
        // Thousands of nodes may begin at one byte, so its line is looked for only when needed.
        if !marked && !is_wrapper(node.kind()) {
            return None;
        }
        let start = lead.unwrap_or_else(|| line_start(self.text, node.start_byte()));
        let start = siblings.wrapper.take_if(|_| name.is_some()).unwrap_or(start);
        match depth {
            Some(0) if marked => self.mark(start, Strength::Block),
            Some(depth) if marked => self.mark(start, Strength::Part(depth)),
            _ => {}
        }
        if let Some(title) = name {
            let range = start..node.end_byte();
            self.items.push(range.end);
            self.structure.outline.push(OutlineEntry { range, body: start, title });
        }
        Some(start)
    }

    fn mark(&mut self, at: usize, strength: Strength) {
        if self.structure.marks.last().is_none_or(|last| last.at < at) {
            self.structure.marks.push(SplitPoint { at, strength });
        }
    }
}

/// The last row with something on it: some comments include their line break.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 { end.row.saturating_sub(1) } else { end.row }
}

/// Whether a node leads up to the next one rather than standing for itself.
fn is_lead(kind: &str) -> bool {
    kind.contains("comment") || matches!(kind, "attribute_item" | "decorator")
}

/// Whether a node only dresses the item in it: its decorators, its `export`, its `typedef`.
fn is_wrapper(kind: &str) -> bool {
    matches!(
        kind,
        "decorated_definition"
            | "export_statement"
            | "ambient_declaration"
            | "type_declaration"
            | "type_definition"
            | "declaration"
            | "expression_statement"
    )
}

/// The name under which an item is listed, or `None` for a node that is not an item.
fn name(node: Node<'_>, text: &str) -> Option<String> {
    let source = |range: Range<usize>| text.get(range).unwrap_or_default();
    let field = |name: &str| node.child_by_field_name(name);
    let word = match node.kind() {
        "impl_item" => {
            let body = field("body").map_or(node.end_byte(), |body| body.start_byte());
            return Some(title(source(node.start_byte()..body)));
        }
        // Go's method, with its receiver.
        "method_declaration" if field("receiver").is_some() => {
            let parameters = field("parameters").map_or(node.end_byte(), |p| p.start_byte());
            return Some(title(source(node.start_byte()..parameters)));
        }
        "lexical_declaration" | "variable_declaration" => return function_in(node, text),
        "function_item" => "fn",
        "struct_item" => "struct",
        "enum_item" | "enum_declaration" => "enum",
        "union_item" => "union",
        "const_item" => "const",
        "static_item" => "static",
        "trait_item" => "trait",
        "mod_item" => "mod",
        "macro_definition" => "macro",
        "class_definition" | "class_declaration" | "abstract_class_declaration" => "class",
        "interface_declaration" | "annotation_type_declaration" => "interface",
        "record_declaration" => "record",
        "type_item" | "type_spec" | "type_alias_declaration" => "type",
        "internal_module" => "namespace",
        "function_declaration" if field("parameters").is_some() => {
            // Go says `func`, JavaScript `function`, perhaps after `async`.
            if source(node.byte_range()).starts_with("func ") { "func" } else { "function" }
        }
        "generator_function_declaration" => "function",
        // Python has a name, C a declarator.
        "function_definition" if field("name").is_some() => "def",
        "function_definition"
        | "method_declaration"
        | "constructor_declaration"
        | "method_definition" => "",
        "struct_specifier" if field("body").is_some() => "struct",
        _ => return None,
    };
    let name = field("name").or_else(|| declared(node))?;
    Some(title(&format!("{word} {}", source(name.byte_range()))))
}

/// The name inside C's declarators: `int *(main)(void)`.
fn declared(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node.child_by_field_name("declarator")?;
    while let Some(inner) = node.child_by_field_name("declarator") {
        node = inner;
    }
    Some(node)
}

/// `const name = () => …`: a declaration that names a function.
fn function_in(node: Node<'_>, text: &str) -> Option<String> {
    let declarator = node.named_child(0)?;
    let value = declarator.child_by_field_name("value")?;
    if !matches!(value.kind(), "arrow_function" | "function_expression" | "class") {
        return None;
    }
    let name = declarator.child_by_field_name("name")?;
    text.get(node.start_byte()..name.end_byte()).map(title)
}
