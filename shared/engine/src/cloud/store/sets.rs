//! Members of declared sets: a row for each, beside the owner's count, written together with the
//! schedule it names. Reading a set costs what the set is large, whatever else its owner has.

use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use belfry_core::id::{ScheduleId, SetName};

use super::limits::owner_key;
use super::paging;
use super::{FORMAT, Item, Store, number, string};
use crate::cloud::store::tables::{PART, SCHEDULE_ID};
use crate::fault::{Fault, sdk};

/// What the parts of members begin with. Names have no `#`.
const MEMBER: &str = "set#";

impl Store {
    /// Every member of an owner's sets, or of one of them, in the order of the names.
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

    /// Makes a schedule a member.
    pub(super) fn put_member(
        &self,
        id: &ScheduleId,
        owner: &str,
        set: &SetName,
    ) -> Result<TransactWriteItem, Fault> {
        let mut item = member_key(id, owner, set);
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let put = Put::builder().table_name(&self.schedules).set_item(Some(item)).build();
        let put = put.map_err(sdk(format!("put {id} into set {set}")))?;
        Ok(TransactWriteItem::builder().put(put).build())
    }

    /// Makes it one no more.
    pub(super) fn delete_member(
        &self,
        id: &ScheduleId,
        owner: &str,
        set: &SetName,
    ) -> Result<TransactWriteItem, Fault> {
        let key = member_key(id, owner, set);
        let delete = Delete::builder().table_name(&self.schedules).set_key(Some(key)).build();
        let delete = delete.map_err(sdk(format!("take {id} out of set {set}")))?;
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
