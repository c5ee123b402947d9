//! Answers that are lists: pages of long ones, and short ones whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page", deny_unknown_fields)]
pub struct Page<T> {
    /// The items of this page, in the order of the list.
    pub items: Vec<T>,
    /// Pass as `cursor` to get the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// A list that is answered whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}List", deny_unknown_fields)]
pub struct List<T> {
    /// All items, in the order of the list.
    pub items: Vec<T>,
}
