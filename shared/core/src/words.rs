//! Words: what people read for the words of the API.
//!
//! An enum that stands in answers says its words in a `match`, so that no variant can lack them, and
//! serde knows the variants, so that no list of them can be incomplete.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::value::StrDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// A word of the API, its name for people and its meaning in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Term {
    /// Value in requests and answers.
    pub word: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// Meaning, in a sentence.
    pub meaning: &'static str,
}

/// An enum without fields whose variants people read about.
pub trait Words: for<'de> Deserialize<'de> {
    /// The variant's label and its meaning.
    fn words(self) -> (&'static str, &'static str);
}

/// Every variant of an enum with its words, in the order of their declaration.
///
/// ```
/// use belfry_core::{schedule::Overlap, words::terms};
/// let words: Vec<_> = terms::<Overlap>().iter().map(|term| term.word).collect();
/// assert_eq!(words, ["skip", "allow", "queue"]);
/// ```
pub fn terms<T: Words>() -> Vec<Term> {
    let term = |word: &&'static str| {
        let text: StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
        let (label, meaning) = T::deserialize(text).ok()?.words();
        Some(Term { word, label, meaning })
    };
    variants::<T>().iter().filter_map(term).collect()
}

/// The words of an enum's variants, as serde reads and writes them.
pub fn variants<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    let mut found = Variants(&[]);
    // Nothing is read: the question is only what would be understood.
    let _ = T::deserialize(&mut found);
    found.0
}

/// Words as a person lists them: `skip, allow or queue`.
pub fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Notes which variants a type would understand, and has no value for it.
struct Variants(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut Variants {
    type Error = Nothing;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Nothing> {
        self.0 = variants;
        Err(Nothing)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Nothing> {
        Err(Nothing)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[derive(Debug)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no value")
    }
}

impl std::error::Error for Nothing {}

impl Error for Nothing {
    fn custom<T: fmt::Display>(_: T) -> Nothing {
        Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_enum_has_no_variants() {
        assert!(variants::<String>().is_empty());
    }

    #[test]
    fn words_are_listed_as_a_person_would() {
        assert_eq!(listed(&["skip", "allow", "queue"]), "skip, allow or queue");
        assert_eq!((listed(&["a"]), listed(&[])), ("a".to_owned(), String::new()));
    }
}
