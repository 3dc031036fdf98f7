//! Text tables for people: plain ASCII, words to the left, numbers to the right.

use std::fmt;

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of text under a header, each column as wide as its widest cell.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<const N: usize>(columns: [(&str, Align); N]) -> Self {
        Self { columns: columns.map(|(name, align)| (name.to_owned(), align)).to_vec(), rows: Vec::new() }
    }

    /// Adds a row; cells that are missing stay empty.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.push(cells.to_vec());
    }

    /// Adds a row of as many cells as there are; cells that are missing stay empty.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        debug_assert!(cells.len() <= self.columns.len(), "more cells than columns");
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let lines = || std::iter::once(&header).chain(&self.rows);
        let cell = |line: &'_ Vec<String>, i: usize| line.get(i).cloned().unwrap_or_default();
        let width = |i| lines().map(|line| cell(line, i).chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        for line in lines() {
            let mut text = String::new();
            for (i, (&width, (_, align))) in widths.iter().zip(&self.columns).enumerate() {
                let gap = if i == 0 { "" } else { "  " };
                let cell = cell(line, i);
                text += &match align {
                    Align::Left => format!("{gap}{cell:<width$}"),
                    Align::Right => format!("{gap}{cell:>width$}"),
                };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// A size in the largest unit that leaves at least 1: `64 B`, `32 KiB`, `23.5 GiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let unit = bytes.ilog2() / 10;
    let scaled = bytes as f64 / (1_u64 << (10 * unit)) as f64;
    let name = UNITS[unit as usize - 1];
    if scaled.fract() < 0.05 || scaled >= 100.0 { format!("{scaled:.0} {name}") } else { format!("{scaled:.1} {name}") }
}

/// A number with its thousands set apart: `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in per cent with three significant digits: `1.00 %`, `0.0819 %`, `1.20e-7 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value == 0.0 {
        return "0 %".to_owned();
    }
    if value < 1e-4 {
        return format!("{value:.2e} %");
    }
    // What rounds up to the next power of ten has a digit less.
    let decimals = (2 - (value * 1.0005).log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new([("layout", Align::Left), ("bytes", Align::Right), ("note", Align::Left)]);
        table.row(["word".to_owned(), "8".to_owned(), "fast".to_owned()]);
        table.row(["split-block".to_owned(), "1,024".to_owned()]);
        let expected = "\
layout       bytes  note
word             8  fast
split-block  1,024
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn sizes() {
        for (size, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (32 << 20, "32 MiB"),
            (25_276_502_016, "23.5 GiB"),
            (150 << 30, "150 GiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn percents() {
        let cases = [(0.01, "1.00 %"), (0.00819, "0.819 %"), (0.0187, "1.87 %"), (0.5, "50.0 %"), (1e-9, "1.00e-7 %")];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
        assert_eq!((percent(0.0).as_str(), percent(0.000123).as_str()), ("0 %", "0.0123 %"));
    }

    #[test]
    fn counts() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(n), text);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }
}
