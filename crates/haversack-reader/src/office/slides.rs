//! Slides as one text: a heading for each, so that a citation names the slide.

use super::blocks::{Block, flatten};
use super::markdown::{join_lines, render};
use super::package::{Omissions, Properties};
use crate::limits::PAGES_MAX;
use crate::part::{Part, PartSink, ReadFailure};

/// A slide.
#[derive(Debug, Default)]
pub(super) struct Slide {
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
    pub(super) notes: Vec<Block>,
}

/// The text of all slides so far.
#[derive(Debug, Default)]
pub(super) struct Deck {
    title: String,
    text: String,
    lines: u32,
    number: usize,
    pages: Vec<u32>,
    /// Slides that are left out, and have no line of their own yet.
    hidden: usize,
    pub(super) omissions: Omissions,
}

impl Deck {
    /// Adds the next slide.
    pub(super) fn push(&mut self, slide: Slide) -> Result<(), ReadFailure> {
        self.count()?;
        let title = join_lines(&slide.title);
        if self.title.is_empty() {
            self.title.clone_from(&title);
        }
        let heading = match title.is_empty() {
            true => format!("Slide {}", self.number),
            false => format!("Slide {}: {title}", self.number),
        };
        let mut blocks = vec![Block::Heading(2, heading)];
        blocks.extend(slide.blocks);
        if !flatten(&slide.notes).is_empty() {
            blocks.push(Block::Paragraph("Notes:".to_owned()));
            blocks.extend(slide.notes);
        }
        let text = render(&blocks);
        if !self.text.is_empty() {
            self.text.push('\n');
            self.lines += 1;
        }
        // A hidden slide has no lines: it shares those of the next one, so that numbers agree.
        self.pages.extend((0..=self.hidden).map(|_| self.lines + 1));
        self.hidden = 0;
        self.lines += u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX / 2);
        self.text.push_str(&text);
        Ok(())
    }

    /// Counts a slide that is not shown.
    pub(super) fn push_hidden(&mut self) -> Result<(), ReadFailure> {
        self.count()?;
        self.hidden += 1;
        self.omissions.add("hidden slide", "hidden slides", 1);
        Ok(())
    }

    fn count(&mut self) -> Result<(), ReadFailure> {
        self.number += 1;
        match self.number > PAGES_MAX {
            true => Err(ReadFailure::too_large("slides", PAGES_MAX as u64)),
            false => Ok(()),
        }
    }

    /// Gives the part for the presentation and a notice of what is left out.
    pub(super) fn give(
        self,
        properties: &Properties,
        sink: &mut PartSink<'_>,
    ) -> Result<(), ReadFailure> {
        // Programs call a presentation by their own name when nobody else does.
        let usual =
            ["PowerPoint Presentation", "PowerPoint-Präsentation", "Présentation PowerPoint"];
        let own = Some(properties.title.trim());
        let own = own.filter(|title| !title.is_empty() && !usual.contains(title));
        let mut part = Part::of_file(own.unwrap_or(&self.title), self.text);
        part.pages = self.pages;
        properties.apply(&mut part);
        sink.part(part)?;
        self.omissions.report(sink)
    }
}
