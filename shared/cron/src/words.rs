//! Turns values into words: lists, ranges and names.

/// Joins items to `1, 2 and 3`, with `last` as the last conjunction.
pub(crate) fn list(items: &[String], last: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., end] => format!("{} {last} {end}", rest.join(", ")),
    }
}

/// Lists values and joins neighbours to ranges: `1 to 5`, `1 to 3 and 7`. The values must be
/// sorted.
pub(crate) fn ranges(values: &[u32], name: impl Fn(u32) -> String, last: &str) -> String {
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    let items: Vec<String> = runs
        .flat_map(|run| match run {
            [first, _, .., end] => vec![format!("{} to {}", name(*first), name(*end))],
            few => few.iter().map(|value| name(*value)).collect(),
        })
        .collect();
    list(&items, last)
}

/// The ordinal of 1 to 5: `first` to `fifth`.
pub(crate) fn ordinal(n: u32) -> &'static str {
    match n {
        1 => "first",
        2 => "second",
        3 => "third",
        4 => "fourth",
        _ => "fifth",
    }
}

/// The name of a weekday. 0 is Sunday.
pub(crate) fn weekday(n: u32) -> &'static str {
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"][n as usize % 7]
}

/// The name of a month. 1 is January.
pub(crate) fn month(n: u32) -> &'static str {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    NAMES[(n as usize + 11) % 12]
}

/// A number and its unit, with a plural s where needed: `5 minutes`, `1 day`.
pub(crate) fn count(n: u64, unit: &str) -> String {
    match n {
        1 => format!("1 {unit}"),
        _ => format!("{n} {unit}s"),
    }
}
