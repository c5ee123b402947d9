//! Reading many schedules: the ids of one owner or of all owners, and the schedules themselves.

use std::str::FromStr;

use belfry_core::id::ScheduleId;
use belfry_core::schedule::Schedule;

use super::clocks::{is_deleted, read_clock};
use super::schedules::read_spec;
use super::{Item, Store, part_key, string, text};
use crate::cloud::store::tables::{CLOCK, OWNER_INDEX, PART, SCHEDULE_ID, SPEC, USER_ID};
use crate::fault::{Fault, sdk};

/// The owner and the id of a schedule.
pub type Owned = (String, ScheduleId);

impl Store {
    /// The ids of an owner's schedules in alphabetical order, after `cursor`.
    pub async fn schedules_of(
        &self,
        owner: &str,
        limit: usize,
        cursor: Option<&ScheduleId>,
    ) -> Result<Vec<ScheduleId>, Fault> {
        self.names_of(&self.schedules, SCHEDULE_ID, owner, limit, cursor.map(ScheduleId::as_str))
            .await
    }

    /// The names of what an owner has in a table, from its index of owners: at most `limit`, in
    /// alphabetical order, after `cursor`.
    pub(super) async fn names_of<N: FromStr>(
        &self,
        table: &str,
        attribute: &str,
        owner: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Vec<N>, Fault> {
        let query = self
            .client
            .query()
            .table_name(table)
            .index_name(OWNER_INDEX)
            .limit(limit as i32)
            .expression_attribute_values(":owner", text(owner));
        let query = match cursor {
            None => query.key_condition_expression("user_id = :owner"),
            Some(cursor) => query
                .key_condition_expression(format!("user_id = :owner AND {attribute} > :cursor"))
                .expression_attribute_values(":cursor", text(cursor)),
        };
        let page = query.send().await.map_err(sdk(format!("list {attribute} of {owner}")))?;
        let name = |item: &Item| string(item, attribute)?.parse().ok();
        Ok(page.items().iter().filter_map(name).collect())
    }

    /// The schedules of all owners, after `cursor`. The order is DynamoDB's own and does not change
    /// between pages.
    pub async fn schedules_of_all(
        &self,
        limit: usize,
        cursor: Option<&Owned>,
    ) -> Result<Vec<Owned>, Fault> {
        let mut found: Vec<Owned> = Vec::new();
        let mut start = cursor.map(|(owner, id)| {
            let mut key = part_key(id, SPEC);
            key.insert(USER_ID.into(), text(owner));
            key
        });
        loop {
            let scan = self.client.scan().table_name(&self.schedules).index_name(OWNER_INDEX);
            let scan = scan.limit((limit - found.len()) as i32).set_exclusive_start_key(start);
            let page = scan.send().await.map_err(sdk("list schedules of all owners"))?;
            let owned = |item: &Item| {
                let id = string(item, SCHEDULE_ID)?.parse().ok()?;
                Some((string(item, USER_ID)?.to_owned(), id))
            };
            found.extend(page.items().iter().filter_map(owned));
            start = page.last_evaluated_key;
            if start.is_none() || found.len() >= limit {
                return Ok(found);
            }
        }
    }

    /// At most fifty schedules, in the order of `ids`.
    pub async fn schedules(&self, ids: &[ScheduleId]) -> Result<Vec<Schedule>, Fault> {
        self.read_schedules(ids, false).await
    }

    /// The same, read consistently.
    pub async fn schedules_now(&self, ids: &[ScheduleId]) -> Result<Vec<Schedule>, Fault> {
        self.read_schedules(ids, true).await
    }

    async fn read_schedules(
        &self,
        ids: &[ScheduleId],
        consistent: bool,
    ) -> Result<Vec<Schedule>, Fault> {
        let keys = ids.iter().flat_map(|id| [part_key(id, CLOCK), part_key(id, SPEC)]).collect();
        let mut items = self.get_all(&self.schedules, keys, consistent).await?;
        let mut take = |id: &ScheduleId, part: &str| {
            let is_it = |item: &Item| {
                string(item, SCHEDULE_ID) == Some(id.as_str()) && string(item, PART) == Some(part)
            };
            let place = items.iter().position(is_it)?;
            Some(items.swap_remove(place))
        };
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            if let (Some(clock), Some(spec)) = (take(id, CLOCK), take(id, SPEC))
                && !is_deleted(&clock)
            {
                found.push(Schedule { clock: read_clock(clock)?, spec: read_spec(id, spec)? });
            }
        }
        Ok(found)
    }
}
