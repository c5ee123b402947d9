//! The tables: one definition of keys, indexes and expiry for the code, the local system and the
//! deploy template.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};

use belfry_core::tick::share;

use crate::fault::{Fault, sdk};
use crate::settings::Settings;

/// A table's shape.
pub struct Table {
    /// Which setting names it.
    pub setting: &'static str,
    /// Partition and sort key.
    pub key: (Attribute, Attribute),
    /// Its indexes, nearly all KEYS_ONLY: what an index carries is paid at every write.
    pub indexes: &'static [Index],
    /// The attribute that makes items expire.
    pub expiry: Option<&'static str>,
}

/// A key attribute.
#[derive(Clone, Copy)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a number; text otherwise.
    pub number: bool,
}

/// An index's shape.
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// Its partition key.
    pub partition: Attribute,
    /// Its sort key.
    pub sort: Option<Attribute>,
    /// What it carries besides keys: little enough for one write unit.
    pub carries: &'static [&'static str],
}

const fn text(name: &'static str) -> Attribute {
    Attribute { name, number: false }
}

/// Of every table: which schedule.
pub const SCHEDULE_ID: &str = "schedule_id";
/// Of `schedules`: which part of the schedule.
pub const PART: &str = "sk";
/// The clock's part.
pub const CLOCK: &str = "clock";
/// The spec's part.
pub const SPEC: &str = "spec";
/// The part that ends a pause. It is in the due index at the time the pause ends.
pub const WAKE: &str = share::WAKE;
/// What the parts of backfills begin with. They are in the due index while they go on.
pub const BACKFILL: &str = share::BACKFILL;
/// What the parts of the change log begin with.
pub const CHANGE: &str = "change#";
/// Recovery's own rows, under a name no schedule can have.
pub const RECOVERY: &str = "#recovery";
/// Of `due`: a share of the schedules; only clocks that may fire have it.
pub const DUE_SHARD: &str = "due_shard";
/// Of `due`: when the clock wants to be looked at.
pub const NEXT_RUN_AT: &str = "next_run_at";
/// Of clocks: whose they are. The due index carries it, so that the tick serves owners in turn.
pub const OWNER: &str = "owner";
/// Of `owner`: only specs have it, so that fires never write that index.
pub const USER_ID: &str = "user_id";
/// Of `runs`: the fire's nominal time, with its cause if it has one.
pub const RUN_AT: &str = "run_at";
/// Of `sweep`: the minute to look at the run, and a shard.
pub const SWEEP: &str = "sweep";
/// Of `workflows`: which workflow.
pub const WORKFLOW_ID: &str = "workflow_id";
/// Of `workflows`: which version.
pub const VERSION: &str = "version";
/// When an item may be forgotten, in epoch seconds.
pub const EXPIRES_AT: &str = "expires_at";

/// The index of clocks by when they are due.
pub const DUE_INDEX: &str = "due";
/// The index of schedules by who made them.
pub const OWNER_INDEX: &str = "owner";
/// The index of runs by when to look at them.
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
        indexes: &[],
        expiry: None,
    },
];

/// Makes the tables that are not there yet: for the local system and for tests. In AWS the deploy
/// template does it.
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
        let kind = if attribute.number { ScalarAttributeType::N } else { ScalarAttributeType::S };
        let definition = AttributeDefinition::builder()
            .attribute_name(attribute.name)
            .attribute_type(kind)
            .build();
        request = request.attribute_definitions(definition.map_err(sdk(doing()))?);
    }
    for element in key_schema(table.key.0, Some(table.key.1)) {
        request = request.key_schema(element.map_err(sdk(doing()))?);
    }
    for index in table.indexes {
        let projection = match index.carries {
            [] => Projection::builder().projection_type(ProjectionType::KeysOnly),
            more => Projection::builder()
                .projection_type(ProjectionType::Include)
                .set_non_key_attributes(Some(more.iter().map(|&name| name.to_owned()).collect())),
        };
        let mut builder =
            GlobalSecondaryIndex::builder().index_name(index.name).projection(projection.build());
        for element in key_schema(index.partition, index.sort) {
            builder = builder.key_schema(element.map_err(sdk(doing()))?);
        }
        request = request.global_secondary_indexes(builder.build().map_err(sdk(doing()))?);
    }
    match request.send().await {
        Ok(_) => {}
        Err(SdkError::ServiceError(e))
            if matches!(e.err(), CreateTableError::ResourceInUseException(_)) =>
        {
            return Ok(());
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

fn key_schema(
    partition: Attribute,
    sort: Option<Attribute>,
) -> impl Iterator<Item = Result<KeySchemaElement, aws_sdk_dynamodb::error::BuildError>> {
    let element = |attribute: Attribute, kind| {
        KeySchemaElement::builder().attribute_name(attribute.name).key_type(kind).build()
    };
    let partition = element(partition, KeyType::Hash);
    let sort = sort.map(|sort| element(sort, KeyType::Range));
    std::iter::once(partition).chain(sort)
}
