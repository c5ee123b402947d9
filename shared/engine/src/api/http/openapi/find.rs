//! Finds the operation that a method and a path mean.

use super::operation::Operation;
use super::operations::OPERATIONS;

/// The answer of the table to a method and a path.
pub(crate) enum Found {
    /// There is such a call.
    Call(&'static Operation),
    /// There is the path, for these methods.
    Otherwise(String),
    /// There is no such path.
    Nothing,
}

/// Looks a call up. A path without parameters goes before one with some.
pub(crate) fn find<S: AsRef<str>>(method: &str, segments: &[S]) -> Found {
    let path = OPERATIONS
        .iter()
        .map(|operation| operation.path)
        .filter(|path| fits(path, segments))
        .min_by_key(|path| path.matches('{').count());
    let Some(path) = path else { return Found::Nothing };
    let here = || OPERATIONS.iter().filter(|operation| operation.path == path);
    // A HEAD is a GET whose answer is not sent.
    let wanted = if method == "HEAD" { "GET" } else { method };
    match here().find(|operation| operation.method == wanted) {
        Some(operation) => Found::Call(operation),
        None => {
            let mut methods: Vec<_> = here().map(|operation| operation.method).collect();
            if let Some(get) = methods.iter().position(|method| *method == "GET") {
                methods.insert(get + 1, "HEAD");
            }
            Found::Otherwise(methods.join(", "))
        }
    }
}

fn fits<S: AsRef<str>>(path: &str, segments: &[S]) -> bool {
    let parts = path.split('/').skip(1);
    let is_here = |(part, segment): (&str, &S)| part.starts_with('{') || part == segment.as_ref();
    parts.clone().count() == segments.len() && parts.zip(segments).all(is_here)
}
