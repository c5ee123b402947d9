//! A trace: each request on the wire as a readable line.

use serde_json::Value;

use crate::embedded;

/// A summary of a request.
pub(super) fn about(operation: &str, body: &Value) -> String {
    match operation {
        "PutItem" => {
            let item = &body["Item"];
            let status = item["status"]["S"].as_str().unwrap_or_default();
            format!("{} {status} {}", key(item), item["reason"]["S"].as_str().unwrap_or_default())
        }
        "UpdateItem" => {
            let condition = body["ConditionExpression"].as_str().unwrap_or_default();
            format!("{} {} IF {condition}", key(&body["Key"]), writes(body))
        }
        "GetItem" => key(&body["Key"]),
        "Query" => format!("{} {}", body["IndexName"], body["ExpressionAttributeValues"]),
        "SendMessageBatch" => {
            let entries = body["Entries"].as_array().into_iter().flatten();
            let entry = |entry: &Value| {
                let message = entry["MessageBody"].as_str().map(serde_json::from_str::<Value>);
                let message = message.and_then(Result::ok).unwrap_or_default();
                format!("{} in {}s", message["run_id"], entry["DelaySeconds"])
            };
            entries.map(entry).collect::<Vec<_>>().join(", ")
        }
        "TransactWriteItems" => {
            let puts = body["TransactItems"].as_array().into_iter().flatten();
            puts.map(|put| key(&put["Put"]["Item"])).collect::<Vec<_>>().join(" ")
        }
        "BatchExecuteStatement" => {
            let statements = body["Statements"].as_array().into_iter().flatten();
            let verb = |statement: &Value| {
                let text = statement["Statement"].as_str().unwrap_or_default();
                text.split(' ').next().unwrap_or_default().to_owned()
            };
            let keys = embedded::statements(body).into_iter().map(|(_, of)| key(&of));
            let about = statements.map(verb).zip(keys).map(|(verb, key)| format!("{verb} {key}"));
            about.collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

fn key(from: &Value) -> String {
    let part = |name: &str| from[name]["S"].as_str().unwrap_or_default().to_owned();
    format!("{}@{}{}", part("schedule_id"), part("run_at"), part("sk"))
}

/// The assignments of an update, with names and values filled in.
fn writes(body: &Value) -> String {
    let mut text = body["UpdateExpression"].as_str().unwrap_or_default().to_owned();
    // Longer placeholders first: `#n1` is a prefix of `#n12`.
    let mut places: Vec<(String, String)> = Vec::new();
    for (place, name) in body["ExpressionAttributeNames"].as_object().into_iter().flatten() {
        places.push((place.clone(), name.as_str().unwrap_or_default().to_owned()));
    }
    for (place, value) in body["ExpressionAttributeValues"].as_object().into_iter().flatten() {
        let value = value.as_object().and_then(|value| value.values().next());
        places.push((place.clone(), value.map(Value::to_string).unwrap_or_default()));
    }
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
    for (place, meaning) in places {
        text = text.replace(&place, &meaning);
    }
    text
}
