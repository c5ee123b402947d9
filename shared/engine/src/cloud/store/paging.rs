//! Queries that read more than one page.

use std::ops::ControlFlow;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use futures::FutureExt;

use super::Item;
use crate::fault::{Fault, sdk};

/// All items that a query finds.
pub(super) async fn all(query: QueryFluentBuilder, doing: String) -> Result<Vec<Item>, Fault> {
    let mut found = Vec::new();
    let take = |item| {
        found.push(item);
        Ok(ControlFlow::Continue(()))
    };
    each(query, doing, take).await?;
    Ok(found)
}

/// Passes each item that a query finds to `take`, until `take` breaks.
pub(super) async fn each(
    mut query: QueryFluentBuilder,
    doing: String,
    mut take: impl FnMut(Item) -> Result<ControlFlow<()>, Fault>,
) -> Result<(), Fault> {
    loop {
        let page = query.clone().send().boxed().await.map_err(sdk(&doing))?;
        for item in page.items.unwrap_or_default() {
            if take(item)?.is_break() {
                return Ok(());
            }
        }
        match page.last_evaluated_key {
            Some(last) => query = query.set_exclusive_start_key(Some(last)),
            None => return Ok(()),
        }
    }
}

/// Continues until `found` has `wanted` entries.
pub(super) fn until<T>(found: &[T], wanted: usize) -> Result<ControlFlow<()>, Fault> {
    Ok(match found.len() < wanted {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    })
}
