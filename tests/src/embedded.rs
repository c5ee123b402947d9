//! The embedded DynamoDB, called without a socket.

use dynoxide::Database;
use dynoxide::errors::DynoxideError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::checker::Run;

/// The table of clocks, specs and changes.
pub const SCHEDULES: &str = "belfry-schedules";
/// The table of runs.
pub const RUNS: &str = "belfry-runs";
/// The table of workflow versions.
pub const WORKFLOWS: &str = "belfry-workflows";

/// Calls an operation by its name in `X-Amz-Target`.
pub fn dynamodb(
    database: &Database,
    operation: &str,
    body: &Value,
) -> Result<Value, DynoxideError> {
    match operation {
        "CreateTable" => ask(body, |request| database.create_table(request)),
        "UpdateTimeToLive" => ask(body, |request| database.update_time_to_live(request)),
        "PutItem" => ask(body, |request| database.put_item(request)),
        "GetItem" => ask(body, |request| database.get_item(request)),
        "UpdateItem" => ask(body, |request| database.update_item(request)),
        "DeleteItem" => ask(body, |request| database.delete_item(request)),
        "BatchGetItem" => ask(body, |request| database.batch_get_item(request)),
        "Query" => ask(body, |request| database.query(request)),
        "Scan" => ask(body, |request| database.scan(request)),
        "TransactWriteItems" => ask(body, |request| database.transact_write_items(request)),
        "BatchExecuteStatement" => ask(body, |request| database.batch_execute_statement(request)),
        _ => panic!("the simulator does not support {operation}"),
    }
}

fn ask<Q: DeserializeOwned, A: Serialize>(
    body: &Value,
    operation: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<Value, DynoxideError> {
    let request = Q::deserialize(body).expect("a request of the SDK is well-formed");
    let answer = operation(request)?;
    Ok(serde_json::to_value(answer).expect("an answer is JSON"))
}

/// The table and the key of each statement of a batch.
pub fn statements(body: &Value) -> Vec<(String, Value)> {
    let about = |statement: &Value| {
        let text = statement["Statement"].as_str().unwrap_or_default();
        let table = text.split('"').nth(1).unwrap_or_default().to_owned();
        // An update's assignments come before its key.
        let keys = text.find(" WHERE ").unwrap_or(0);
        let mut key = serde_json::Map::new();
        for name in ["schedule_id", "run_at", "sk"] {
            let places = [format!("\"{name}\" = ?"), format!("'{name}': ?")];
            let place = places.iter().find_map(|place| text[keys..].find(place.as_str()));
            if let Some(place) = place {
                let number = text[..keys + place].matches('?').count();
                key.insert(name.to_owned(), statement["Parameters"][number].clone());
            }
        }
        (table, Value::Object(key))
    };
    body["Statements"].as_array().into_iter().flatten().map(about).collect()
}

/// An item as stored; null if it does not exist.
pub fn item(database: &Database, table: &str, key: &Value) -> Value {
    let request = json!({"TableName": table, "Key": key, "ConsistentRead": true});
    let answer = dynamodb(database, "GetItem", &request);
    answer.map_or(Value::Null, |answer| answer["Item"].clone())
}

/// The recorded runs of a schedule, oldest first.
pub fn runs(database: &Database, schedule: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut request = json!({
        "TableName": RUNS, "ConsistentRead": true,
        "KeyConditionExpression": "schedule_id = :id",
        "ExpressionAttributeValues": {":id": {"S": schedule}},
    });
    loop {
        let page = dynamodb(database, "Query", &request).expect("runs are readable");
        runs.extend(page["Items"].as_array().into_iter().flatten().map(Run::read));
        match page.get("LastEvaluatedKey").filter(|key| !key.is_null()) {
            Some(key) => request["ExclusiveStartKey"] = key.clone(),
            None => return runs,
        }
    }
}

/// The runs that hold a slot of a schedule, by their sort keys.
pub fn active(database: &Database, schedule: &str) -> Vec<String> {
    let key = json!({"schedule_id": {"S": schedule}, "sk": {"S": "clock"}});
    let clock = item(database, SCHEDULES, &key);
    let active = clock["active"]["SS"].as_array().into_iter().flatten();
    active.filter_map(|key| key.as_str().map(str::to_owned)).collect()
}
