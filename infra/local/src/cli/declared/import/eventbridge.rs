//! Converts EventBridge Scheduler's schedules, and EventBridge rules with a schedule expression, from
//! what the AWS command prints or from a template.

use belfry_core::cron::Cron;
use belfry_local::yaml::{self, Place};
use serde_json::{Value, json};

use super::{Imported, template, unique};

/// How to read schedules of EventBridge.
pub(super) struct Wish {
    pub(super) set: String,
    pub(super) region: Option<String>,
    pub(super) account: Option<String>,
}

/// Reads the output of `aws scheduler get-schedule`, one or several in a row or in a list, rules as
/// `aws events list-rules` prints them, each with its `Targets`, or a CloudFormation template.
pub(super) fn read(text: &str, wish: &Wish) -> Result<Imported, String> {
    let mut imported = Imported {
        // EventBridge starts a target even if its previous run is still going.
        defaults: json!({"overlap_policy": "allow"}),
        ..Imported::default()
    };
    for document in documents(text)? {
        one(&mut imported, &document, wish);
    }
    if imported.schedules.is_empty() && imported.warnings.is_empty() {
        return Err("contains no schedule and no rule".to_owned());
    }
    if !imported.schedules.is_empty() {
        let message = "targets receive {dag, payload, metadata}; the former Input is payload";
        imported.warn("all", message);
        let message =
            "the launcher's role calls all targets; the schedules' own roles are not used";
        imported.warn("all", message);
    }
    Ok(imported)
}

/// The documents of a text: JSON, one after the other, or YAML, as templates often are.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start().starts_with(['{', '[']) {
        let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        return documents.collect::<Result<_, _>>().map_err(|e| format!("is not JSON: {e}"));
    }
    let documents = yaml::read(text).map_err(|problem| {
        let Place { line, column } = problem.place;
        format!("line {line}, column {column}: {}", problem.message)
    })?;
    Ok(documents.iter().map(template::untagged).collect())
}

fn one(imported: &mut Imported, value: &Value, wish: &Wish) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| one(imported, value, wish)),
        Value::Object(fields) => {
            let list = fields.get("Schedules").or_else(|| fields.get("Rules"));
            match list {
                Some(list) => one(imported, list, wish),
                None if fields.contains_key("Resources") => {
                    for found in template::schedules(value, wish) {
                        match found.properties {
                            Ok(properties) => entry(imported, &properties, wish),
                            Err(problem) => imported.leave_out(&found.name, &problem),
                        }
                        found.warnings.iter().for_each(|text| imported.warn(&found.name, text));
                    }
                }
                None if fields.contains_key("Name") => entry(imported, value, wish),
                None => imported.leave_out("a document", "is neither a schedule nor a rule"),
            }
        }
        _ => imported.leave_out("a document", "is neither a schedule nor a rule"),
    }
}

fn entry(imported: &mut Imported, value: &Value, wish: &Wish) {
    let text = |field: &str| value[field].as_str();
    let name = text("Name").unwrap_or_default().to_owned();
    if !value["EventPattern"].is_null() {
        return imported.leave_out(&name, "matches events and has no schedule expression");
    }
    let Some(expression) = text("ScheduleExpression") else {
        let message = "has no ScheduleExpression; `aws scheduler get-schedule` prints it";
        return imported.leave_out(&name, message);
    };
    if let Err(problem) = Cron::parse(expression, &name) {
        return imported.leave_out(&name, &format!("{expression}: {problem}"));
    }
    let targets: Vec<&Value> = match (&value["Target"], &value["Targets"]) {
        (Value::Object(_), _) => vec![&value["Target"]],
        (_, Value::Array(targets)) => targets.iter().collect(),
        _ => Vec::new(),
    };
    if targets.is_empty() {
        let message = "has no target; add the output of `aws events list-targets-by-rule` to the rule as Targets";
        return imported.leave_out(&name, message);
    }
    for target in targets {
        let Some(kind) = kind(imported, &name, target) else { continue };
        let workflow = workflow(imported, target, &kind);
        let payload = payload(imported, &name, target);
        let mut schedule = json!({
            "schedule_id": imported.name(&format!("{}-{name}", wish.set)),
            "workflow_id": workflow,
            "cron_expr": expression,
        });
        let mut set = |field: &str, value: Value| {
            if !value.is_null() {
                schedule[field] = value;
            }
        };
        set("payload", payload);
        set("timezone", value["ScheduleExpressionTimezone"].clone());
        set("description", value["Description"].clone());
        set("start_at", instant(&value["StartDate"]));
        set("end_at", instant(&value["EndDate"]));
        if text("State") == Some("DISABLED") {
            set("paused", json!(true));
        }
        if let Some(group) = text("GroupName").filter(|group| *group != "default") {
            set("tags", json!({"group": group}));
        }
        set("jitter_ms", jitter(imported, &name, &value["FlexibleTimeWindow"]));
        imported.schedules.push(schedule);
    }
    if text("ActionAfterCompletion") == Some("DELETE") {
        imported.warn(&name, "will not be deleted after its last run; its status becomes expired");
    }
}

/// A window of n minutes after the fire time becomes a jitter of n/2 minutes on either side.
fn jitter(imported: &mut Imported, name: &str, window: &Value) -> Value {
    let minutes = window["MaximumWindowInMinutes"].as_u64().filter(|minutes| *minutes <= 1440);
    let Some(minutes) = minutes.filter(|_| window["Mode"] == "FLEXIBLE") else {
        return Value::Null;
    };
    let message = format!(
        "its flexible window of {minutes} minutes became a jitter of half as much before and after"
    );
    imported.warn(name, &message);
    json!(minutes * 60_000 / 2)
}

/// Times are strings, or numbers of seconds as the SDKs print them.
fn instant(value: &Value) -> Value {
    match value.as_f64() {
        Some(seconds) => match chrono::DateTime::from_timestamp(seconds as i64, 0) {
            Some(at) => json!(belfry_core::instant::text(at)),
            None => Value::Null,
        },
        None => value.clone(),
    }
}

/// The target in Belfry's form, if Belfry can launch it.
fn kind(imported: &mut Imported, name: &str, target: &Value) -> Option<Value> {
    let arn = target["Arn"].as_str().unwrap_or_default();
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let (service, region, account, resource) = match parts.as_slice() {
        ["arn", _, service, region, account, resource] => (*service, *region, *account, *resource),
        _ => ("", "", "", ""),
    };
    let kind = match service {
        "lambda" => json!({"kind": "lambda", "function": arn}),
        "states" if resource.starts_with("stateMachine:") => {
            json!({"kind": "step_functions", "state_machine_arn": arn})
        }
        "sqs" => {
            let url = format!("https://sqs.{region}.amazonaws.com/{account}/{resource}");
            if resource.ends_with(".fifo") {
                let message = "its message group becomes the schedule's owner; messages are deduplicated by run";
                imported.warn(name, message);
            }
            json!({"kind": "sqs", "queue_url": url})
        }
        "events" if resource.starts_with("event-bus/") => {
            let parameters = &target["EventBridgeParameters"];
            let (source, detail_type) = (&parameters["Source"], &parameters["DetailType"]);
            if source.is_null() || detail_type.is_null() {
                imported.leave_out(name, "its event has no Source and DetailType");
                return None;
            }
            json!({"kind": "eventbridge", "bus": arn, "source": source, "detail_type": detail_type})
        }
        _ => {
            imported.leave_out(name, &format!("Belfry cannot launch its target {arn}"));
            return None;
        }
    };
    for field in ["RetryPolicy", "DeadLetterConfig"] {
        if !target[field].is_null() {
            let message = format!(
                "{field} is not carried over; Belfry retries launches and recovers lost ones"
            );
            imported.warn(name, &message);
        }
    }
    Some(kind)
}

/// The id of the workflow for a target; schedules with the same target share one.
fn workflow(imported: &mut Imported, target: &Value, kind: &Value) -> String {
    let known = imported.workflows.iter().find(|workflow| workflow["target"] == *kind);
    if let Some(known) = known.and_then(|workflow| workflow["workflow_id"].as_str()) {
        return known.to_owned();
    }
    let arn = target["Arn"].as_str().unwrap_or_default();
    // Behind the name of a function there may be an alias or a version.
    let title = match arn.split_once(":function:") {
        Some((_, function)) => function.split(':').next(),
        None => arn.rsplit([':', '/']).next(),
    };
    // Workflow ids are a namespace of their own: a schedule may have the same id.
    let ids = imported.workflows.iter().filter_map(|workflow| workflow["workflow_id"].as_str());
    let mut taken = ids.map(str::to_owned).collect();
    let id = unique(title.unwrap_or_default(), &mut taken);
    imported.workflows.push(json!({"workflow_id": id, "version": 1, "target": kind}));
    id
}

/// The payload for what the target received as Input.
fn payload(imported: &mut Imported, name: &str, target: &Value) -> Value {
    for field in ["InputPath", "InputTransformer"] {
        if !target[field].is_null() {
            imported.warn(name, &format!("{field} is not carried over"));
        }
    }
    let Some(input) = target["Input"].as_str() else { return Value::Null };
    if input.contains("<aws.scheduler.") {
        let message = "its Input contains <aws.scheduler...>, which Belfry does not replace; metadata has the times and ids";
        imported.warn(name, message);
    }
    serde_json::from_str(input).unwrap_or_else(|_| Value::from(input))
}

#[cfg(test)]
mod tests {
    use belfry_core::id::WorkflowId;

    use super::*;

    fn wish() -> Wish {
        Wish {
            set: "crew".to_owned(),
            region: Some("eu-west-1".to_owned()),
            account: Some("123456789012".to_owned()),
        }
    }

    const TEMPLATE: &str = r#"
AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  Stage: {Type: String, Default: prod}
  Bus: {Type: String}
Resources:
  Report:
    Type: AWS::Lambda::Function
    Properties: {FunctionName: !Sub "report-${Stage}"}
  Jobs: {Type: AWS::SQS::Queue}
  Role: {Type: AWS::IAM::Role}
  Nightly:
    Type: AWS::Scheduler::Schedule
    Properties:
      Name: !Sub nightly-${Stage}
      ScheduleExpression: cron(0 2 * * ? *)
      ScheduleExpressionTimezone: Europe/Zurich
      FlexibleTimeWindow: {Mode: "OFF"}
      Target: {Arn: !GetAtt Report.Arn, RoleArn: !GetAtt Role.Arn, Input: '{"n": 1}'}
  Often:
    Type: AWS::Events::Rule
    Condition: IsProd
    Properties:
      ScheduleExpression: rate(5 minutes)
      Targets:
        - {Id: a, Arn: !GetAtt [Jobs, Arn]}
        - {Id: b, Arn: !Sub "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:flow"}
  Odd:
    Type: AWS::Scheduler::Schedule
    Properties:
      ScheduleExpression: rate(1 hour)
      Target: {Arn: !Ref Bus}
  Sam:
    Type: AWS::Serverless::Function
    Properties:
      Events:
        Tick: {Type: Schedule, Properties: {Schedule: rate(1 minute), Enabled: false}}
        Web: {Type: HttpApi}
"#;

    #[test]
    fn schedules_of_a_template_carry_over() {
        let imported = read(TEMPLATE, &wish()).unwrap();
        let field = |field: &str| -> Vec<String> {
            imported.schedules.iter().map(|s| s[field].as_str().unwrap().to_owned()).collect()
        };
        let ids = ["crew-nightly-prod", "crew-Often", "crew-Often-2", "crew-SamTick"];
        assert_eq!(field("schedule_id"), ids);
        assert_eq!(field("workflow_id"), ["report-prod", "Jobs", "flow", "Sam"]);
        assert_eq!(imported.schedules[0]["payload"], json!({"n": 1}));
        assert_eq!(imported.schedules[3]["paused"], json!(true));
        let lambda = "arn:aws:lambda:eu-west-1:123456789012:function:report-prod";
        assert_eq!(imported.workflows[0]["target"]["function"], lambda);
        let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/Jobs";
        assert_eq!(imported.workflows[1]["target"]["queue_url"], queue);
        let warned = |text: &str| imported.warnings.iter().any(|w| w.contains(text));
        for text in [
            "Often: depends on the condition IsProd",
            "Often: Jobs has no name in the template",
            "Odd: the parameter Bus has no default; left out",
        ] {
            assert!(warned(text), "{text}: {:#?}", imported.warnings);
        }
        assert_eq!(imported.left_out, 1);
    }

    #[test]
    fn a_workflow_has_a_valid_id_after_its_target() {
        let long = format!("arn:aws:states:eu-west-1:1:stateMachine:{}", "x".repeat(80));
        let function = "arn:aws:lambda:eu-west-1:1:function:report";
        let arns = [
            function.to_owned(),
            format!("{function}:live"),
            format!("{function}:$LATEST"),
            "arn:aws:sqs:eu-west-1:1:jobs.fifo".to_owned(),
            long.clone(),
            format!("{long}y"),
        ];
        let schedules: Vec<_> = arns
            .iter()
            .map(|arn| {
                json!({"Name": "s", "ScheduleExpression": "rate(1 day)", "Target": {"Arn": arn}})
            })
            .collect();
        let imported = read(&json!(schedules).to_string(), &wish()).unwrap();
        let ids: Vec<_> =
            imported.workflows.iter().map(|w| w["workflow_id"].as_str().unwrap()).collect();
        assert_eq!(ids[..4], ["report", "report-2", "report-3", "jobs.fifo"]);
        assert_eq!((ids[4].len(), ids[5].len()), (56, 58));
        for id in ids {
            assert!(id.parse::<WorkflowId>().is_ok(), "{id}");
        }
    }

    #[test]
    fn a_template_in_json_is_read_too_and_needs_to_know_where_it_is_deployed() {
        let template = json!({"Resources": {
            "Flow": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"StateMachineName": "flow"}},
            "Daily": {"Type": "AWS::Scheduler::Schedule", "Properties": {
                "ScheduleExpression": "rate(1 day)",
                "Target": {"Arn": {"Fn::Join": ["", [{"Ref": "Flow"}]]}},
            }},
        }});
        let imported = read(&template.to_string(), &wish()).unwrap();
        let arn = "arn:aws:states:eu-west-1:123456789012:stateMachine:flow";
        assert_eq!(imported.workflows[0]["target"]["state_machine_arn"], arn);
        let nowhere = Wish { region: None, ..wish() };
        let imported = read(&template.to_string(), &nowhere).unwrap();
        assert_eq!((imported.schedules.len(), imported.left_out), (0, 1));
        assert!(imported.warnings[0].contains("pass --region"), "{:?}", imported.warnings);
    }

    #[test]
    fn schedules_and_rules_carry_over_and_the_rest_is_told() {
        let lambda = "arn:aws:lambda:eu-west-1:123456789012:function:report";
        let schedules = json!([
            {
                "Name": "nightly", "GroupName": "billing", "State": "DISABLED",
                "ScheduleExpression": "cron(0 2 * * ? *)",
                "ScheduleExpressionTimezone": "Europe/Zurich",
                "StartDate": "2026-01-01T00:00:00+00:00", "EndDate": 1893456000.0,
                "FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 10},
                "ActionAfterCompletion": "DELETE",
                "Target": {"Arn": lambda, "Input": "{\"n\": 1}", "RetryPolicy": {"MaximumRetryAttempts": 3}},
            },
            {
                "Name": "often", "GroupName": "default", "ScheduleExpression": "rate(5 minutes)",
                "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": {"Arn": lambda, "Input": "plain"},
            },
            {
                "Name": "task", "ScheduleExpression": "at(2030-01-01T00:00:00)",
                "Target": {"Arn": "arn:aws:ecs:eu-west-1:123456789012:cluster/c"},
            },
        ]);
        let rules = json!({"Rules": [
            {
                "Name": "rule", "ScheduleExpression": "rate(1 hour)", "Targets": [
                    {"Id": "1", "Arn": "arn:aws:sqs:eu-west-1:123456789012:jobs"},
                    {"Id": "2", "Arn": "arn:aws:states:eu-west-1:123456789012:stateMachine:flow"},
                ],
            },
            {"Name": "pattern", "EventPattern": "{}"},
        ]});
        let imported = read(&format!("{schedules}\n{rules}"), &wish()).unwrap();
        let ids: Vec<_> =
            imported.schedules.iter().map(|s| s["schedule_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["crew-nightly", "crew-often", "crew-rule", "crew-rule-2"]);
        assert_eq!(imported.left_out, 2);
        assert_eq!(
            imported.schedules[0],
            json!({
                "schedule_id": "crew-nightly", "workflow_id": "report", "cron_expr": "cron(0 2 * * ? *)",
                "timezone": "Europe/Zurich", "start_at": "2026-01-01T00:00:00+00:00",
                "end_at": "2030-01-01T00:00:00Z", "paused": true, "jitter_ms": 300_000,
                "tags": {"group": "billing"}, "payload": {"n": 1},
            })
        );
        assert_eq!(imported.schedules[1]["payload"], "plain");
        assert_eq!(imported.workflows.len(), 3);
        let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs";
        assert_eq!(imported.workflows[1]["target"]["queue_url"], queue);
        let warned = |text: &str| imported.warnings.iter().any(|w| w.contains(text));
        for text in [
            "nightly: its flexible window",
            "nightly: RetryPolicy",
            "nightly: will not be deleted",
            "task: Belfry cannot launch its target arn:aws:ecs",
            "pattern: matches events",
        ] {
            assert!(warned(text), "{text}: {:#?}", imported.warnings);
        }
        assert!(read("[]", &wish()).is_err() && read("{", &wish()).is_err());
    }
}
