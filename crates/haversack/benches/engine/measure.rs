//! The table of measurements.

/// Measurements, with a row for each figure and a column for each size.
#[derive(Default)]
pub(crate) struct ReportTable {
    rows: Vec<(String, Vec<(usize, String)>)>,
}

impl ReportTable {
    pub(crate) fn row(&mut self, size: usize, name: &str, value: f64) {
        let digits = if value.abs() < 10.0 { 3 } else { 0 };
        self.text(size, name, format!("{value:.digits$}"));
    }

    pub(crate) fn latency(&mut self, size: usize, name: &str, sorted: &[f64]) {
        let at = |percent: usize| sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)];
        let text = format!("{:.2} / {:.2} / {:.2}", at(50), at(95), at(99));
        self.text(size, &format!("{name}, p50 / p95 / p99 ms"), text);
    }

    pub(crate) fn text(&mut self, size: usize, name: &str, value: String) {
        match self.rows.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push((size, value)),
            None => self.rows.push((name.to_owned(), vec![(size, value)])),
        }
    }

    #[expect(clippy::print_stdout, reason = "a benchmark is there to print")]
    pub(crate) fn print(&self) {
        let sizes: Vec<usize> = self
            .rows
            .first()
            .map(|(_, v)| v.iter().map(|(size, _)| *size).collect())
            .unwrap_or_default();
        println!();
        let heads: Vec<String> = sizes.iter().map(|size| format!("{size} items")).collect();
        println!("| measured | {} |", heads.join(" | "));
        println!("| --- |{}", " ---: |".repeat(sizes.len()));
        for (name, values) in &self.rows {
            let cell = |size: &usize| {
                let value = values.iter().find(|(known, _)| known == size);
                value.map_or("", |(_, value)| value.as_str()).to_owned()
            };
            let cells: Vec<String> = sizes.iter().map(cell).collect();
            println!("| {name} | {} |", cells.join(" | "));
        }
    }
}
