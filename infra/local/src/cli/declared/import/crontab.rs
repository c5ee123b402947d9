//! Converts a crontab line by line. Times and commands carry over; what cron does besides running
//! them is reported as a warning.

use belfry_core::cron::{Cron, Zone};
use serde_json::{Value, json};

use super::Imported;

/// How to read a crontab.
pub(super) struct Wish {
    pub(super) system: bool,
    pub(super) zone: Option<String>,
    pub(super) workflow: String,
    pub(super) set: String,
}

/// What the lines above say about the jobs below them.
struct Given {
    zone: Option<String>,
    jitter_ms: Option<u64>,
}

pub(super) fn read(text: &str, wish: &Wish) -> Imported {
    let mut imported = Imported {
        // Cron starts a job even if its previous run is still going.
        defaults: json!({"workflow_id": wish.workflow, "overlap_policy": "allow"}),
        ..Imported::default()
    };
    let mut given = Given { zone: wish.zone.clone(), jitter_ms: None };
    let mut comments: Vec<String> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("line {}", number + 1);
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            let comment = comment.trim_start_matches('#').trim();
            if !is_disabled(comment) {
                comments.push(comment.to_owned());
            }
            continue;
        }
        if line.is_empty() {
            comments.clear();
            continue;
        }
        match variable(line) {
            Some((name, value)) => set(&mut imported, &place, &mut given, name, value),
            None => job(&mut imported, &place, line, &given, &comments, wish),
        }
        comments.clear();
    }
    if !imported.schedules.is_empty() {
        let workflow = &wish.workflow;
        let message =
            "must be published; its target receives each command as payload.command and runs it";
        imported.warn(&format!("workflow {workflow}"), message);
        if given.zone.is_none() {
            let message =
                "the crontab names no zone, so UTC is used; pass the machine's zone with --tz";
            imported.warn("timezone", message);
        }
    }
    imported
}

/// Whether a comment is a job that was commented out, or the head of the columns: nothing that
/// describes the job below it.
fn is_disabled(comment: &str) -> bool {
    let fields = if comment.starts_with('@') { 1 } else { 5 };
    let (expression, command) = split(comment, fields);
    let is_job =
        !command.is_empty() && (expression == "@reboot" || Cron::parse(&expression, "").is_ok());
    let is_variable = variable(comment).is_some_and(|(name, _)| name == name.to_uppercase());
    is_job || is_variable || expression == "m h dom mon dow"
}

/// Parses `NAME = value` as cron does.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_name.then(|| (name, value.trim().trim_matches(['"', '\''])))
}

fn set(imported: &mut Imported, place: &str, given: &mut Given, name: &str, value: &str) {
    match name {
        "CRON_TZ" | "TZ" => match Zone::parse(value) {
            Ok(known) => given.zone = Some(known.name().to_owned()),
            Err(problem) => imported.leave_out(place, &format!("{name}: {problem}")),
        },
        "MAILTO" | "MAILFROM" => {
            let message = "job output is not mailed; runs are recorded, and alarms report failures";
            imported.warn(place, &format!("{name}: {message}"));
        }
        "RANDOM_DELAY" => match value.parse::<u64>() {
            Ok(minutes) if minutes <= 1440 => {
                given.jitter_ms = (minutes > 0).then_some(minutes * 60_000 / 2);
                let message =
                    "became a jitter of half as much before and after, in the lines below";
                imported.warn(place, &format!("RANDOM_DELAY {message}"));
            }
            _ => imported.leave_out(place, "RANDOM_DELAY is not a number of minutes"),
        },
        _ => {
            let message = "is not carried over; set it in the executor of the command";
            imported.warn(place, &format!("{name} {message}"));
        }
    }
}

fn job(
    imported: &mut Imported,
    place: &str,
    line: &str,
    given: &Given,
    comments: &[String],
    wish: &Wish,
) {
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let (expression, rest) = split(line, fields);
    if expression == "@reboot" {
        return imported.leave_out(place, "@reboot names no time");
    }
    let (user, command) = match wish.system {
        true => {
            let (user, command) = split(rest, 1);
            (Some(user), command)
        }
        false => (None, rest),
    };
    if command.is_empty() {
        return imported.leave_out(place, "has no command");
    }
    let name = imported.name(&format!("{}-{}", wish.set, title(command)));
    if let Err(problem) = Cron::parse(&expression, &name) {
        imported.names.remove(&name);
        return imported.leave_out(place, &format!("{expression}: {problem}"));
    }
    let (command, input) = percent(command);
    let mut payload = json!({"command": command});
    if let Some(input) = input {
        payload["stdin"] = json!(input);
        imported.warn(place, "the text after % becomes the command's input, payload.stdin");
    }
    if let Some(user) = user {
        payload["user"] = json!(user);
        imported.warn(place, &format!("the user {user} is passed on as payload.user only"));
    }
    let mut schedule = json!({"schedule_id": name, "cron_expr": expression, "payload": payload});
    if let Some(zone) = &given.zone {
        schedule["timezone"] = json!(zone);
    }
    if let Some(jitter_ms) = given.jitter_ms {
        schedule["jitter_ms"] = json!(jitter_ms);
    }
    if !comments.is_empty() {
        schedule["description"] = json!(comments.join("\n"));
    }
    imported.schedules.push(schedule);
}

/// The first fields of a line joined by single blanks, and the rest of the line.
fn split(line: &str, count: usize) -> (String, &str) {
    let mut rest = line.trim_start();
    let mut fields = Vec::new();
    for _ in 0..count {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        fields.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    (fields.join(" ").trim().to_owned(), rest)
}

/// A name for a command: its program, without the folders.
fn title(command: &str) -> &str {
    let program = command.split_whitespace().find(|word| !word.contains('=')).unwrap_or("job");
    program.rsplit('/').next().unwrap_or(program)
}

/// Cron ends the command at the first `%` and turns each further `%` into a line break; `\%` stands
/// for a `%`.
fn percent(command: &str) -> (String, Option<Value>) {
    let mut parts = vec![String::new()];
    let mut characters = command.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&'%') => {
                characters.next();
                if let Some(part) = parts.last_mut() {
                    part.push('%');
                }
            }
            '%' => parts.push(String::new()),
            c => {
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
    }
    let command = parts.remove(0).trim_end().to_owned();
    let input = (!parts.is_empty()).then(|| json!(parts.join("\n") + "\n"));
    (command, input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(system: bool) -> Wish {
        Wish { system, zone: None, workflow: "crontab".to_owned(), set: "host".to_owned() }
    }

    #[test]
    fn jobs_carry_over_and_the_rest_is_told() {
        let text = "# Backups, every night\nMAILTO=ops@example.com\nPATH=/usr/bin\nCRON_TZ=Europe/Zurich\n\n\
                    # the database\n0 2 * * *  /opt/backup.sh --full\n@daily A=1 /opt/backup.sh\n@reboot /opt/up\n\
                    61 * * * * /opt/never\n*/5 9-17 * * mon-fri mail -s '100\\% done' ann%hello%world\n* * * * *\n";
        let imported = read(text, &wish(false));
        let ids: Vec<_> =
            imported.schedules.iter().map(|s| s["schedule_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["host-backup.sh", "host-backup.sh-2", "host-mail"]);
        let first = &imported.schedules[0];
        assert_eq!(first["cron_expr"], "0 2 * * *");
        assert_eq!(first["payload"], json!({"command": "/opt/backup.sh --full"}));
        assert_eq!(first["timezone"], "Europe/Zurich");
        assert_eq!(first["description"], "the database");
        assert_eq!(imported.schedules[1]["cron_expr"], "@daily");
        let mail = &imported.schedules[2]["payload"];
        assert_eq!(mail["command"], "mail -s '100% done' ann");
        assert_eq!(mail["stdin"], "hello\nworld\n");
        let warned = |place: &str| imported.warnings.iter().any(|w| w.starts_with(place));
        for place in [
            "line 2: MAILTO",
            "line 3: PATH",
            "line 9: @reboot",
            "line 10: 61 * * * *: minute",
            "line 11: the text after %",
            "line 12: has no command",
            "workflow crontab",
        ] {
            assert!(warned(place), "{place}: {:#?}", imported.warnings);
        }
        assert!(!warned("timezone"));
        // Lines 9, 10 and 12.
        assert_eq!(imported.left_out, 3);
    }

    #[test]
    fn a_random_delay_counts_from_its_line_on() {
        let text = "1 * * * * /a\nRANDOM_DELAY=10\n2 * * * * /b\nRANDOM_DELAY=0\n3 * * * * /c\n";
        let imported = read(text, &wish(false));
        let jitters: Vec<_> = imported.schedules.iter().map(|s| s.get("jitter_ms")).collect();
        assert_eq!(jitters, [None, Some(&json!(300_000)), None]);
        assert_eq!(imported.defaults.get("jitter_ms"), None);
        assert_eq!(imported.left_out, 0);
        assert_eq!(read("RANDOM_DELAY=soon\n1 * * * * /a\n", &wish(false)).left_out, 1);
    }

    #[test]
    fn a_job_that_is_commented_out_describes_nothing() {
        let text = "# m h  dom mon dow   command\n#0 1 * * * /old --full\n# @reboot /up\n#MAILTO=ann\n\
                    ## The database, 5 times a day\n#*/5 9-17 * * mon-fri /older\n0 2 * * * /new\n";
        let imported = read(text, &wish(false));
        assert_eq!(imported.schedules.len(), 1);
        assert_eq!(imported.schedules[0]["description"], "The database, 5 times a day");
        assert_eq!(imported.left_out, 0);
        let alone = read("#0 1 * * * /old\n0 2 * * * /new\n", &wish(false));
        assert_eq!(alone.schedules[0].get("description"), None);
    }

    #[test]
    fn a_system_crontab_names_users() {
        let imported = read("17 * * * * root cd / && run-parts /etc/cron.hourly\n", &wish(true));
        let schedule = &imported.schedules[0];
        assert_eq!(schedule["payload"]["user"], "root");
        assert_eq!(schedule["payload"]["command"], "cd / && run-parts /etc/cron.hourly");
        assert!(imported.warnings.iter().any(|w| w.contains("--tz")), "{:?}", imported.warnings);
    }
}
