//! Colours for terminals. All output is readable without them.

use anstyle::{AnsiColor, Effects, Style};

use crate::output::is_styled;

/// The colours of layers, in their order.
const LAYERS: [AnsiColor; 8] = [
    AnsiColor::Blue,
    AnsiColor::Green,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Cyan,
    AnsiColor::Red,
    AnsiColor::BrightBlue,
    AnsiColor::BrightGreen,
];

/// The characters of layers where there are no colours.
const SHADES: [char; 8] = ['█', '▒', '▓', '░', '▚', '▤', '▞', '▥'];

/// Whether output is coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output: coloured if it is a terminal and `NO_COLOR` is not set.
    pub(crate) fn of_stdout() -> Paint {
        Paint { on: is_styled() }
    }

    #[cfg(test)]
    pub(crate) const fn with(on: bool) -> Paint {
        Paint { on }
    }

    fn styled(self, style: Style, text: &str) -> String {
        if !self.on || text.is_empty() {
            return text.to_owned();
        }
        format!("{}{text}{}", style.render(), style.render_reset())
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.styled(Style::new().effects(Effects::BOLD), text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.styled(Style::new().effects(Effects::DIMMED), text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.styled(color(AnsiColor::Green), text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.styled(color(AnsiColor::Yellow), text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.styled(color(AnsiColor::Red), text)
    }

    /// A part of a bar for the layer at a position.
    pub(crate) fn layer(self, place: usize, width: usize) -> String {
        let at = place % LAYERS.len();
        if self.on {
            self.styled(color(LAYERS[at]), &"█".repeat(width))
        } else {
            SHADES[at].to_string().repeat(width)
        }
    }
}

const fn color(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(color)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_nothing_is_added() {
        let (plain, painted) = (Paint::with(false), Paint::with(true));
        assert_eq!(plain.bold("a"), "a");
        assert_eq!(painted.bold("a"), "\u{1b}[1ma\u{1b}[0m");
        assert_eq!(plain.layer(1, 2), "▒▒");
        assert_eq!(painted.layer(9, 1), "\u{1b}[32m█\u{1b}[0m");
    }
}
