//! Prints tables and records in aligned columns.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

/// The widest column; longer cells are cut.
const MAX_WIDTH: usize = 60;

/// Prints a table.
pub(crate) fn print(head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let head: Vec<String> = head.iter().map(|name| name.to_uppercase()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(&head)
        .chain(rows)
        .map(|row| row.iter().map(|c| cell(c)).collect())
        .collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// Prints one record, a line for each field that is not empty.
pub(crate) fn print_fields(fields: &[(&str, String)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "{name:width$}  {}", plain(value))?;
    }
    Ok(())
}

/// A field as a person reads it.
pub(crate) fn shown(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Err(_) | Ok(Value::Null) => String::new(),
        Ok(Value::String(text)) => text,
        Ok(other) => other.to_string(),
    }
}

/// A text without control characters, which could move a terminal's cursor or change its colours.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn cell(text: &str) -> String {
    let text = plain(text);
    match text.chars().count() {
        0..=MAX_WIDTH => text,
        _ => text.chars().take(MAX_WIDTH - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_told_what_to_do() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{9b}d"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d");
        assert_eq!(cell(&"x".repeat(61)).chars().count(), 60);
    }
}
