//! The limits of an owner: the token bucket for creating schedules, and the count of schedules. The
//! count is written in one transaction with the schedule itself, so a crash leaves both or neither.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update as UpdateItem,
};
use belfry_core::guard::quota::{Bucket, Quota};
use belfry_core::instant::Instant;
use chrono::Duration;
use futures::FutureExt;

use super::{FORMAT, Item, Store, conditions, number, text};
use crate::cloud::store::tables::{EXPIRES_AT, PART, SCHEDULE_ID};
use crate::fault::{Fault, sdk};

/// The answer to a creation that asks for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// A token was taken.
    Yes,
    /// There is no token until this time has passed.
    Wait(Duration),
}

/// The prefix of the keys of owners' rows. No schedule id can begin with it.
const OWNER: &str = "#owner#";
/// The sort key of the bucket's row.
const RATE: &str = "rate";
/// The sort key of the count's row.
pub(super) const COUNT: &str = "count";
/// A bucket's row expires after this time without a creation: the bucket is full by then.
const FORGOTTEN_AFTER: Duration = Duration::days(1);

impl Store {
    /// Takes a token from an owner's bucket. Each attempt is one conditional write, so of many
    /// callers at once exactly as many succeed as there are tokens.
    pub async fn spend_creation(
        &self,
        owner: &str,
        quota: &Quota,
        now: Instant,
    ) -> Result<Spent, Fault> {
        let bucket = quota.bucket(now);
        let expires_at = (now + FORGOTTEN_AFTER).timestamp();
        // The first write is for a full bucket, the second for one that is not full. The time does
        // not change in this loop, so the second write decides, unless the row expires in between.
        for full in [true, false, true, false] {
            match self.take_token(owner, &bucket, full, expires_at).await? {
                Taken::Yes => return Ok(Spent::Yes),
                Taken::No(Some(full_at)) => {
                    if let Some(wait) = bucket.wait(full_at) {
                        return Ok(Spent::Wait(wait));
                    }
                }
                Taken::No(None) => {}
            }
        }
        Ok(Spent::Wait(Duration::seconds(1)))
    }

    async fn take_token(
        &self,
        owner: &str,
        bucket: &Bucket,
        full: bool,
        expires_at: i64,
    ) -> Result<Taken, Fault> {
        let update = self
            .client
            .update_item()
            .table_name(&self.schedules)
            .set_key(Some(owner_key(owner, RATE)))
            .expression_attribute_names("#expires_at", EXPIRES_AT)
            .expression_attribute_values(":expires_at", number(expires_at))
            .expression_attribute_values(":now", number(bucket.now))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let update = match full {
            true => update
                .update_expression("SET full_at = :then, #expires_at = :expires_at")
                .expression_attribute_values(":then", number(bucket.now + bucket.step))
                .condition_expression(conditions::BUCKET_IS_FULL),
            false => update
                .update_expression("SET full_at = full_at + :step, #expires_at = :expires_at")
                .expression_attribute_values(":step", number(bucket.step))
                .expression_attribute_values(":latest", number(bucket.latest))
                .condition_expression(conditions::BUCKET_HAS_A_TOKEN),
        };
        match update.send().boxed().await {
            Ok(_) => Ok(Taken::Yes),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refusal)) => {
                    let item = refusal.item();
                    let full_at = item.and_then(|item| item.get("full_at")?.as_n().ok());
                    Ok(Taken::No(full_at.and_then(|full_at| full_at.parse().ok())))
                }
                _ => Err(sdk(format!("count creations of {owner}"))(error)),
            },
        }
    }

    /// Counts one more schedule of an owner, if the owner has fewer than `most`.
    pub(super) fn count_one_more(
        &self,
        owner: &str,
        most: u32,
    ) -> Result<TransactWriteItem, Fault> {
        let update = self
            .count(owner, 1)
            .condition_expression(conditions::OWNER_HAS_ROOM)
            .expression_attribute_values(":most", number(most));
        built(update, owner)
    }

    /// Counts one schedule less.
    pub(super) fn count_one_less(&self, owner: &str) -> Result<TransactWriteItem, Fault> {
        built(self.count(owner, -1), owner)
    }

    fn count(&self, owner: &str, more: i32) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
        UpdateItem::builder()
            .table_name(&self.schedules)
            .set_key(Some(owner_key(owner, COUNT)))
            .update_expression("ADD schedules :more SET #format = :format")
            .expression_attribute_names("#format", FORMAT.0)
            .expression_attribute_values(":format", number(FORMAT.1))
            .expression_attribute_values(":more", number(more))
    }
}

enum Taken {
    Yes,
    /// When the bucket will be full again, if its row says so.
    No(Option<i64>),
}

fn built(
    update: aws_sdk_dynamodb::types::builders::UpdateBuilder,
    owner: &str,
) -> Result<TransactWriteItem, Fault> {
    let update = update.build().map_err(sdk(format!("count schedules of {owner}")))?;
    Ok(TransactWriteItem::builder().update(update).build())
}

/// The key of an owner's row.
pub(super) fn owner_key(owner: &str, part: &str) -> Item {
    Item::from([(SCHEDULE_ID.into(), text(format!("{OWNER}{owner}"))), (PART.into(), text(part))])
}
