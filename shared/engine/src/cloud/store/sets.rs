//! Members of declared sets: one row per member beside the owner's count, written in one
//! transaction with the schedule. The cost of reading a set grows with the size of the set, not
//! with the other schedules of the owner.

use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use belfry_core::id::{ScheduleId, SetName};

use super::limits::owner_key;
use super::paging;
use super::{FORMAT, Item, Store, number, string};
use crate::cloud::store::tables::{PART, SCHEDULE_ID};
use crate::fault::{Fault, sdk};

/// The prefix of the sort keys of members. Set names contain no `#`.
const MEMBER: &str = "set#";

impl Store {
    /// All members of an owner's sets, or of one set, in alphabetical order.
    pub async fn members(
        &self,
        owner: &str,
        set: Option<&SetName>,
    ) -> Result<Vec<(SetName, ScheduleId)>, Fault> {
        let prefix = set.map_or_else(|| MEMBER.to_owned(), |set| format!("{MEMBER}{set}#"));
        let key = owner_key(owner, &prefix);
        let query = self
            .client
            .query()
            .table_name(&self.schedules)
            .key_condition_expression("schedule_id = :owner AND begins_with(sk, :prefix)")
            .expression_attribute_values(":owner", key[SCHEDULE_ID].clone())
            .expression_attribute_values(":prefix", key[PART].clone())
            .consistent_read(true);
        let items = paging::all(query, format!("read the sets of {owner}")).await?;
        Ok(items.iter().filter_map(read_member).collect())
    }

    /// The write that adds a schedule to a set.
    pub(super) fn put_member(
        &self,
        id: &ScheduleId,
        owner: &str,
        set: &SetName,
    ) -> Result<TransactWriteItem, Fault> {
        let mut item = member_key(id, owner, set);
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let put = Put::builder().table_name(&self.schedules).set_item(Some(item)).build();
        let put = put.map_err(sdk(format!("add {id} to set {set}")))?;
        Ok(TransactWriteItem::builder().put(put).build())
    }

    /// The write that removes a schedule from a set.
    pub(super) fn delete_member(
        &self,
        id: &ScheduleId,
        owner: &str,
        set: &SetName,
    ) -> Result<TransactWriteItem, Fault> {
        let key = member_key(id, owner, set);
        let delete = Delete::builder().table_name(&self.schedules).set_key(Some(key)).build();
        let delete = delete.map_err(sdk(format!("remove {id} from set {set}")))?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }
}

fn member_key(id: &ScheduleId, owner: &str, set: &SetName) -> Item {
    owner_key(owner, &format!("{MEMBER}{set}#{id}"))
}

fn read_member(item: &Item) -> Option<(SetName, ScheduleId)> {
    let (set, id) = string(item, PART)?.strip_prefix(MEMBER)?.split_once('#')?;
    Some((set.parse().ok()?, id.parse().ok()?))
}
