//! Measures latencies and memory, and prints them as a table.

use std::hint::black_box;
use std::time::Instant;

/// Sorted latencies in milliseconds, after one warm-up run of every query.
pub(crate) fn latencies<T>(queries: &[String], ask: &dyn Fn(&String) -> T) -> Vec<f64> {
    for query in queries {
        black_box(ask(query));
    }
    let mut latencies: Vec<f64> = queries
        .iter()
        .map(|query| {
            let started = Instant::now();
            black_box(ask(query));
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    latencies.sort_by(f64::total_cmp);
    latencies
}

/// Bytes of memory that this process holds, pages of mapped files included.
pub(crate) fn resident_bytes() -> f64 {
    status("VmRSS:")
}

/// The peak memory of this process in bytes.
pub(crate) fn peak_bytes() -> f64 {
    status("VmHWM:")
}

fn status(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let kib: f64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(f64::NAN);
    kib * 1024.0
}

/// Measurements: a row per figure and a column per size.
#[derive(Default)]
pub(crate) struct MeasurementTable {
    rows: Vec<(String, Vec<(usize, String)>)>,
}

impl MeasurementTable {
    pub(crate) fn row(&mut self, size: usize, name: &str, value: f64) {
        let digits = if value.abs() < 10.0 { 3 } else { 0 };
        self.text(size, name, format!("{value:.digits$}"));
    }

    pub(crate) fn latency(&mut self, size: usize, name: &str, sorted: &[f64]) {
        let at = |percent: usize| sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)];
        let text = format!("{:.2} / {:.2} / {:.2}", at(50), at(95), at(99));
        self.text(size, &format!("{name}, p50 / p95 / p99 ms"), text);
    }

    fn text(&mut self, size: usize, name: &str, value: String) {
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
