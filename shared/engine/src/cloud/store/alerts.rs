//! The mark of a schedule's newest alert: which streak of failures was told of.

use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::run::streak::Mark;
use futures::FutureExt;

use super::{FORMAT, Item, Store, conditions, number, part_key, string, text};
use crate::cloud::store::tables::{ALERT, EXPIRES_AT};
use crate::fault::{Fault, sdk};

impl Store {
    /// The mark of a schedule's newest alert, read consistently.
    pub async fn alert_mark(&self, id: &ScheduleId) -> Result<Option<Mark>, Fault> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.schedules)
            .set_key(Some(part_key(id, ALERT)))
            .consistent_read(true)
            .send()
            .boxed()
            .await
            .map_err(sdk(format!("read the newest alert of {id}")))?;
        let read = |item: Item| {
            Some(Mark {
                run: string(&item, "run")?.to_owned(),
                told: item.get("told").and_then(|told| told.as_bool().ok().copied())?,
                claim: string(&item, "claim")?.to_owned(),
                claimed_at: instant::parse(string(&item, "claimed_at")?)?,
            })
        };
        Ok(answer.item.and_then(read))
    }

    /// Writes the mark of an alert over the one that was `seen`. `false`: another function came
    /// first. The mark expires as the runs do that it is about.
    pub async fn mark_alert(
        &self,
        id: &ScheduleId,
        mark: &Mark,
        seen: Option<&Mark>,
        now: Instant,
    ) -> Result<bool, Fault> {
        let mut item = part_key(id, ALERT);
        item.insert("run".into(), text(&mark.run));
        item.insert("told".into(), aws_sdk_dynamodb::types::AttributeValue::Bool(mark.told));
        item.insert("claim".into(), text(&mark.claim));
        item.insert("claimed_at".into(), text(instant::text(mark.claimed_at)));
        item.insert(EXPIRES_AT.into(), self.expires_at(now));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let (condition, given) = match seen {
            Some(seen) => (conditions::ALERT_IS_AS_READ, Some((":seen", text(&seen.claim)))),
            None => (conditions::ALERT_IS_NEW, None),
        };
        let doing = format!("mark the alert of {id}");
        let refused = self.put_if(&self.schedules, item, condition, given, &doing).await?;
        Ok(refused.is_none())
    }
}
