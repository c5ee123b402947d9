//! Odd values: JSON, texts and bodies that tend to break programs.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// A text sent by mistake or on purpose.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let known = select(vec![
        "",
        " ",
        "\0",
        "a\0b",
        "\u{202e}txet",
        "\u{feff}",
        "ﬀ",
        "💥",
        "../../etc/passwd",
        "%00",
        "%",
        "%ff",
        "a@b",
        "#recovery",
        "clock",
        "spec",
        "~",
        "a~b",
        "null",
        "true",
        "NaN",
        "-1",
        "18446744073709551616",
        "1e999",
        "0x10",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.123456789123Z",
        "2026-06-30T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "0000-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:59:59-23:59",
        "+262142-12-31T23:59:59Z",
        "-262143-01-01T00:00:00Z",
        "+10000-01-01T00:00:00Z",
        "a@2026-01-01T00:01:00Z",
        "a@9999-12-31T23:59:59Z",
        "a@2026-01-01T00:01:00Z~x",
        "report@2026-01-01T00:01:00Z",
        "UTC",
        "Europe/Berlin",
        "Etc/Unknown",
        "skip",
        "queue",
        "* * * * *",
        "@reboot",
        "rate(0 minutes)",
        "at(9999-12-31T23:59:59)",
    ]);
    let long =
        (select(vec!["x", "é", "\\", "\"", "[", "💥"]), select(vec![65usize, 300, 2_000, 90_000]));
    prop_oneof![
        6 => known.prop_map(str::to_owned),
        2 => any::<String>(),
        1 => long.prop_map(|(piece, count)| piece.repeat(count)),
        1 => "[a-z0-9.@~%:/ -]{0,40}",
    ]
}

/// A JSON value of the wrong kind, size or shape.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        select(vec![0, -1, 1, 59, 61, 1 << 31, 1 << 53, i64::MAX, i64::MIN]).prop_map(Value::from),
        select(vec![u64::MAX, u64::MAX - 1]).prop_map(Value::from),
        select(vec![1e308, -1e308, 1e-308, 0.5, -0.0, 1.5e15]).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text().prop_map(Value::from),
    ];
    let deep = select(vec![1usize, 20, 60, 110]).prop_map(|depth| {
        (0..depth).fold(json!(1), |inner, level| match level % 2 {
            0 => json!([inner]),
            _ => json!({"a": inner}),
        })
    });
    let tree = leaf.clone().prop_recursive(3, 24, 6, |inner| {
        let object = btree_map(text(), inner.clone(), 0..6);
        prop_oneof![
            vec(inner, 0..6).prop_map(Value::from),
            object.prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    });
    prop_oneof![5 => leaf, 2 => tree, 1 => deep]
}

/// A change to one part of a valid document.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A field has another value.
    Replace(usize, Value),
    /// A field is missing.
    Remove(usize),
    /// A field is present that should not be.
    Add(String, Value),
    /// The whole document is replaced.
    Whole(Value),
    /// The document is cut off.
    Cut(usize),
    /// The document is not JSON.
    Text(String),
}

/// Some change.
pub(crate) fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => (any::<usize>(), json()).prop_map(|(place, value)| Change::Replace(place, value)),
        1 => any::<usize>().prop_map(Change::Remove),
        1 => (text(), json()).prop_map(|(name, value)| Change::Add(name, value)),
        1 => json().prop_map(Change::Whole),
        1 => any::<usize>().prop_map(Change::Cut),
        1 => text().prop_map(Change::Text),
    ]
}

impl Change {
    /// The changed document.
    pub(crate) fn of(&self, document: &Value) -> String {
        let mut changed = document.clone();
        let name = |place: usize| {
            let names: Vec<_> = document.as_object().into_iter().flat_map(Map::keys).collect();
            names.get(place % names.len().max(1)).map(|name| (*name).clone())
        };
        match (self, changed.as_object_mut()) {
            (Change::Replace(place, value), Some(fields)) => {
                fields.extend(name(*place).map(|name| (name, value.clone())));
            }
            (Change::Remove(place), Some(fields)) => {
                fields.retain(|field, _| Some(field) != name(*place).as_ref());
            }
            (Change::Add(field, value), Some(fields)) => {
                fields.insert(field.clone(), value.clone());
            }
            (Change::Whole(value), _) => changed = value.clone(),
            (Change::Cut(place), _) => {
                let text = document.to_string();
                return text.chars().take(place % text.len().max(1)).collect();
            }
            (Change::Text(text), _) => return text.clone(),
            _ => {}
        }
        changed.to_string()
    }
}
