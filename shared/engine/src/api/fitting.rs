//! Answers that fit: a list ends before it is larger than a function may answer.

use serde::Serialize;

/// The most bytes of an answer. A function may answer 6 MB; the rest is left for its envelope.
const MAX_ANSWER: usize = 5 * 1024 * 1024;

/// How many of the first items fit into one answer; at least one, which always does.
pub(super) fn fitting<T: Serialize>(items: &[T]) -> usize {
    let mut left = MAX_ANSWER;
    let fits = |item: &&T| {
        let bytes = size(item);
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    };
    items.iter().take_while(fits).count().max(1).min(items.len())
}

/// Whether an answer that has no pages fits.
pub(super) fn fits(answer: &impl Serialize) -> bool {
    size(answer) <= MAX_ANSWER
}

/// The bytes of a value in an answer, which is a text in the JSON that the function returns: quotes
/// and backslashes count twice.
fn size(value: &impl Serialize) -> usize {
    let text = serde_json::to_string(value).unwrap_or_default();
    let escaped = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    text.len() + escaped + ",".len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_before_it_is_too_large() {
        let quotes = "\"".repeat(MAX_ANSWER / 16);
        // Each quote is four bytes in the end: escaped in the item, and again in the answer.
        let items = vec![quotes.as_str(); 9];
        assert_eq!(fitting(&items), 3);
        assert_eq!(fitting(&items[..2]), 2);
        assert_eq!(fitting::<&str>(&[]), 0);
        let large = "x".repeat(2 * MAX_ANSWER);
        assert_eq!(fitting(&[large.as_str(), "x"]), 1);
        assert!(!fits(&large));
    }
}
