//! The tables: keys, indexes and expiry match the code, and the data is protected from mistakes.

use std::collections::BTreeSet;

use belfry_engine::cloud::store::tables::{Attribute, TABLES, Table};
use belfry_tests::Template;
use serde_json::{Value, json};

use super::{Problems, default, referred};

const KIND: &str = "AWS::DynamoDB::Table";

pub(super) fn check(template: &Template, problems: &mut Problems) {
    let variables = template.at("/Globals/Function/Environment/Variables");
    for table in &TABLES {
        let id = referred(&variables[table.setting]);
        one(template, id, table, problems);
    }
    let count = template.of_type(KIND).count();
    problems.equal("the number of tables", &json!(count), &json!(TABLES.len()));
}

fn one(template: &Template, id: &str, table: &Table, problems: &mut Problems) {
    let found = template.properties(id);
    problems.equal(
        format!("the key of {id}"),
        &found["KeySchema"],
        &key(table.key.0, Some(table.key.1)),
    );
    let of_indexes = table.indexes.iter().flat_map(|index| [Some(index.partition), index.sort]);
    let attributes = [table.key.0, table.key.1].into_iter().chain(of_indexes.flatten());
    let wanted: BTreeSet<String> =
        attributes.map(|a| format!("{} {}", a.name, if a.number { "N" } else { "S" })).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let defined = found["AttributeDefinitions"].as_array().into_iter().flatten();
    let defined: BTreeSet<_> = defined
        .map(|a| format!("{} {}", text(&a["AttributeName"]), text(&a["AttributeType"])))
        .collect();
    problems.same(&format!("attributes of {id}"), &defined, &wanted);

    let indexes: Vec<_> = table
        .indexes
        .iter()
        .map(|index| {
            json!({
                "IndexName": index.name,
                "KeySchema": key(index.partition, index.sort),
                "Projection": match index.carries {
                    [] => json!({"ProjectionType": "KEYS_ONLY"}),
                    more => json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": more}),
                },
            })
        })
        .collect();
    let wanted = if indexes.is_empty() { Value::Null } else { json!(indexes) };
    problems.equal(format!("the indexes of {id}"), &found["GlobalSecondaryIndexes"], &wanted);
    let expiry = table.expiry.map(|name| json!({"AttributeName": name, "Enabled": true}));
    let wanted = expiry.unwrap_or_default();
    problems.equal(format!("the expiry of {id}"), &found["TimeToLiveSpecification"], &wanted);

    let billing = &found["BillingMode"];
    problems.equal(format!("billing of {id}"), billing, &json!("PAY_PER_REQUEST"));
    let recovery = &found["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
    problems.equal(format!("point-in-time recovery of {id}"), recovery, &json!(true));
    let encryption = &found["SSESpecification"]["SSEEnabled"];
    problems.equal(format!("encryption of {id}"), encryption, &json!(true));
    let protection = default(template, referred(&found["DeletionProtectionEnabled"]));
    problems.equal(format!("deletion protection of {id}"), &json!(protection), &json!("true"));
    for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
        let kept = template.at(&format!("/Resources/{id}/{policy}"));
        problems.equal(format!("{policy} of {id}"), kept, &json!("Retain"));
    }
}

fn key(partition: Attribute, sort: Option<Attribute>) -> Value {
    let part = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let sort = sort.map(|sort| part(sort.name, "RANGE"));
    std::iter::once(part(partition.name, "HASH")).chain(sort).collect()
}
