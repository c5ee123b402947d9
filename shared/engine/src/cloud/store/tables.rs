//! The tables: the one definition of keys, indexes and expiry, used by the code, the local system
//! and the test of the deploy template.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndex,
    GlobalSecondaryIndexUpdate, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType, TimeToLiveSpecification,
};

use belfry_core::tick::share;

use crate::fault::{Fault, sdk};
use crate::settings::Settings;

/// The shape of a table.
pub struct Table {
    /// The setting that has the name of the table.
    pub setting: &'static str,
    /// The partition key and the sort key.
    pub key: (Attribute, Attribute),
    /// The indexes. Nearly all are KEYS_ONLY, because every attribute of an index costs at every
    /// write.
    pub indexes: &'static [Index],
    /// The attribute by which items expire.
    pub expiry: Option<&'static str>,
}

/// A key attribute.
#[derive(Clone, Copy)]
pub struct Attribute {
    /// The name of the attribute.
    pub name: &'static str,
    /// Whether the attribute is a number; otherwise it is a string.
    pub number: bool,
}

/// The shape of an index.
pub struct Index {
    /// The name of the index.
    pub name: &'static str,
    /// The partition key.
    pub partition: Attribute,
    /// The sort key.
    pub sort: Option<Attribute>,
    /// Attributes of the index beside its keys: few enough that an entry costs one write unit.
    pub carries: &'static [&'static str],
}

const fn text(name: &'static str) -> Attribute {
    Attribute { name, number: false }
}

/// The schedule id, in `schedules` and `runs`.
pub const SCHEDULE_ID: &str = "schedule_id";
/// The sort key of `schedules`: the part of the schedule that the item holds.
pub const PART: &str = "sk";
/// The sort key of a clock.
pub const CLOCK: &str = "clock";
/// The sort key of a spec.
pub const SPEC: &str = "spec";
/// The sort key of the entry that ends a pause. It is in the due index at the time when the pause
/// ends.
pub const WAKE: &str = share::WAKE;
/// The sort key of the mark of the newest alert about failures in a row.
pub const ALERT: &str = "alert";
/// The prefix of the sort keys of backfills. A backfill is in the due index while it runs.
pub const BACKFILL: &str = share::BACKFILL;
/// The prefix of the sort keys of the change log.
pub const CHANGE: &str = "change#";
/// The partition key of recovery's own rows, which no schedule id can be.
pub const RECOVERY: &str = "#recovery";
/// The partition key of the index `due`: the shard of a schedule. Only entries that the tick must
/// find have it.
pub const DUE_SHARD: &str = "due_shard";
/// The sort key of the index `due`: when the entry is due.
pub const NEXT_RUN_AT: &str = "next_run_at";
/// The owner of a clock. The index `due` carries it, so that the tick can serve owners in turn.
pub const OWNER: &str = "owner";
/// The partition key of the indexes `owner`: of schedules, where only specs have it, so that fires
/// never write the index; and of workflows, where only the row that names the owner has it.
pub const USER_ID: &str = "user_id";
/// The sort key of `runs`: the nominal time of the fire, and its cause if it has one.
pub const RUN_AT: &str = "run_at";
/// The partition key of the index `sweep`: the minute in which recovery looks at the run, and a
/// shard.
pub const SWEEP: &str = "sweep";
/// The partition key of `workflows`, and of the index `workflow` of schedules.
pub const WORKFLOW_ID: &str = "workflow_id";
/// The sort key of `workflows`.
pub const VERSION: &str = "version";
/// When DynamoDB may delete the item, in epoch seconds.
pub const EXPIRES_AT: &str = "expires_at";

/// The index of clocks by the time when they are due.
pub const DUE_INDEX: &str = "due";
/// The index of schedules by their owners, and that of workflows by theirs.
pub const OWNER_INDEX: &str = "owner";
/// The index of clocks by the workflow that they launch. A fire changes nothing that is in it, so
/// that only edits write it.
pub const WORKFLOW_INDEX: &str = "workflow";
/// The index of runs by the minute in which recovery looks at them.
pub const SWEEP_INDEX: &str = "sweep";

/// All tables.
pub const TABLES: [Table; 3] = [
    Table {
        setting: "SCHEDULES_TABLE",
        key: (text(SCHEDULE_ID), text(PART)),
        indexes: &[
            Index {
                name: DUE_INDEX,
                partition: text(DUE_SHARD),
                sort: Some(text(NEXT_RUN_AT)),
                carries: &[OWNER],
            },
            Index {
                name: OWNER_INDEX,
                partition: text(USER_ID),
                sort: Some(text(SCHEDULE_ID)),
                carries: &[],
            },
            Index {
                name: WORKFLOW_INDEX,
                partition: text(WORKFLOW_ID),
                sort: Some(text(SCHEDULE_ID)),
                carries: &[OWNER, VERSION],
            },
        ],
        expiry: Some(EXPIRES_AT),
    },
    Table {
        setting: "RUNS_TABLE",
        key: (text(SCHEDULE_ID), text(RUN_AT)),
        indexes: &[Index { name: SWEEP_INDEX, partition: text(SWEEP), sort: None, carries: &[] }],
        expiry: Some(EXPIRES_AT),
    },
    Table {
        setting: "WORKFLOWS_TABLE",
        key: (text(WORKFLOW_ID), Attribute { name: VERSION, number: true }),
        indexes: &[Index {
            name: OWNER_INDEX,
            partition: text(USER_ID),
            sort: Some(text(WORKFLOW_ID)),
            carries: &[],
        }],
        expiry: None,
    },
];

/// Creates the tables and indexes that do not exist, for the local system and for tests. In AWS the
/// deploy template creates them.
pub async fn create(client: &Client, settings: &Settings) -> Result<(), Fault> {
    let names = [&settings.schedules_table, &settings.runs_table, &settings.workflows_table];
    for (table, name) in TABLES.iter().zip(names) {
        create_one(client, table, name).await?;
    }
    Ok(())
}

async fn create_one(client: &Client, table: &Table, name: &str) -> Result<(), Fault> {
    let doing = || format!("create table {name}");
    let mut attributes: Vec<Attribute> = Vec::new();
    let keys = [table.key.0, table.key.1].into_iter();
    let of_indexes = table.indexes.iter().flat_map(|index| [Some(index.partition), index.sort]);
    for attribute in keys.chain(of_indexes.flatten()) {
        if attributes.iter().all(|known| known.name != attribute.name) {
            attributes.push(attribute);
        }
    }
    let mut request =
        client.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
    for attribute in attributes {
        request = request.attribute_definitions(attribute.definition().map_err(sdk(doing()))?);
    }
    for element in key_schema(table.key.0, Some(table.key.1)) {
        request = request.key_schema(element.map_err(sdk(doing()))?);
    }
    for index in table.indexes {
        let builder = GlobalSecondaryIndex::builder()
            .index_name(index.name)
            .projection(index.projection())
            .set_key_schema(Some(index.key_schema().map_err(sdk(doing()))?));
        request = request.global_secondary_indexes(builder.build().map_err(sdk(doing()))?);
    }
    match request.send().await {
        Ok(_) => {}
        Err(SdkError::ServiceError(e))
            if matches!(e.err(), CreateTableError::ResourceInUseException(_)) =>
        {
            return add_indexes(client, table, name).await;
        }
        Err(error) => return Err(sdk(doing())(error)),
    }
    if let Some(attribute) = table.expiry {
        let expiry = TimeToLiveSpecification::builder().attribute_name(attribute).enabled(true);
        client
            .update_time_to_live()
            .table_name(name)
            .time_to_live_specification(expiry.build().map_err(sdk(doing()))?)
            .send()
            .await
            .map_err(sdk(format!("set expiry of {name}")))?;
    }
    Ok(())
}

/// Adds the indexes that a table of an older release lacks. DynamoDB fills them from the items.
async fn add_indexes(client: &Client, table: &Table, name: &str) -> Result<(), Fault> {
    let doing = || format!("add indexes to table {name}");
    let found = client.describe_table().table_name(name).send().await.map_err(sdk(doing()))?;
    let has = found.table.map(|table| table.global_secondary_indexes.unwrap_or_default());
    let has = has.unwrap_or_default();
    let is_missing = |index: &&Index| has.iter().all(|has| has.index_name() != Some(index.name));
    for index in table.indexes.iter().filter(is_missing) {
        let action = CreateGlobalSecondaryIndexAction::builder()
            .index_name(index.name)
            .projection(index.projection())
            .set_key_schema(Some(index.key_schema().map_err(sdk(doing()))?))
            .build()
            .map_err(sdk(doing()))?;
        let mut request = client.update_table().table_name(name).global_secondary_index_updates(
            GlobalSecondaryIndexUpdate::builder().create(action).build(),
        );
        for attribute in [Some(index.partition), index.sort].into_iter().flatten() {
            request = request.attribute_definitions(attribute.definition().map_err(sdk(doing()))?);
        }
        request.send().await.map_err(sdk(doing()))?;
    }
    Ok(())
}

impl Attribute {
    fn definition(self) -> Result<AttributeDefinition, BuildError> {
        let kind = if self.number { ScalarAttributeType::N } else { ScalarAttributeType::S };
        AttributeDefinition::builder().attribute_name(self.name).attribute_type(kind).build()
    }
}

impl Index {
    fn projection(&self) -> Projection {
        let names = || self.carries.iter().map(|&name| name.to_owned()).collect();
        let projection = match self.carries {
            [] => Projection::builder().projection_type(ProjectionType::KeysOnly),
            _ => Projection::builder()
                .projection_type(ProjectionType::Include)
                .set_non_key_attributes(Some(names())),
        };
        projection.build()
    }

    fn key_schema(&self) -> Result<Vec<KeySchemaElement>, BuildError> {
        key_schema(self.partition, self.sort).collect()
    }
}

fn key_schema(
    partition: Attribute,
    sort: Option<Attribute>,
) -> impl Iterator<Item = Result<KeySchemaElement, BuildError>> {
    let element = |attribute: Attribute, kind| {
        KeySchemaElement::builder().attribute_name(attribute.name).key_type(kind).build()
    };
    let partition = element(partition, KeyType::Hash);
    let sort = sort.map(|sort| element(sort, KeyType::Range));
    std::iter::once(partition).chain(sort)
}
