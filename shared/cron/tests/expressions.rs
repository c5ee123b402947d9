//! The language of expressions: which texts mean the same, which are refused, and the error texts.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use belfry_cron::{Cron, Field, Timetable, Zone};
use chrono::{DateTime, Utc};

fn fires(text: &str, seed: &str) -> Vec<DateTime<Utc>> {
    let cron = Cron::parse(text, seed).unwrap_or_else(|refused| panic!("{text}: {refused}"));
    let after = "2026-01-01T00:00:00Z".parse().unwrap();
    Timetable::new(cron, Zone::UTC).fires_after(after).take(40).collect()
}

#[track_caller]
fn check_same(texts: &[&str]) {
    for text in &texts[1..] {
        assert_eq!(fires(texts[0], ""), fires(text, ""), "{} and {text}", texts[0]);
    }
}

#[track_caller]
fn check_refused(text: &str, field: Option<Field>, excerpt: &str, message: &str) {
    let refused = match Cron::parse(text, "") {
        Ok(_) => panic!("{text} is accepted"),
        Err(refused) => refused,
    };
    assert_eq!(refused.to_string(), message, "{text}");
    assert_eq!(refused.field(), field, "{text}");
    assert_eq!(refused.span().map_or("", |span| &text[span]), excerpt, "{text}");
}

#[test]
fn the_same_can_be_said_in_many_ways() {
    check_same(&[
        "0 0 * * *",
        "@daily",
        "@MIDNIGHT",
        "0 0 0 * * *",
        " 00\t00 * * ? ",
        "0 0 0 * * * *",
    ]);
    check_same(&["0 0 1 1 *", "@yearly", "@Annually", "0 0 1 january ?", "cron(0 0 1 1 ? *)"]);
    check_same(&[
        "0 0 * * 0",
        "@weekly",
        "0 0 * * 7",
        "0 0 * * SUN",
        "0 0 * * sunday",
        "0 0 * * 7-7",
    ]);
    check_same(&[
        "0 0 * * 1-5",
        "0 0 * * MON-FRI",
        "0 0 * * mon-5",
        "cron(0 0 ? * 2-6 *)",
        "0 0 ? * 1-5",
    ]);
    check_same(&["*/15 * * * *", "0/15 * * * *", "0-59/15 * * * *", "0,15,30,45 * * * *"]);
    check_same(&["0 * * * *", "@hourly", "*/60 * * * *", "0 */1 * * *"]);
    check_same(&[
        "0 0 * * *",
        "0 */24 * * *",
        "0 0 */1 * *",
        "0 0 1-31 * *",
        "0 0 * * 0-7",
        "0 0 * * 1-0",
    ]);
    check_same(&["0 0 * * 4-7", "0 0 * * THU-SUN", "0 0 * * 4,5,6,0", "0 0 * * 4-0"]);
    check_same(&["0 0 * * 5/1", "0 0 * * FRI/1", "0 0 * * 5,6"]);
    check_same(&["0 22-2 * * *", "0 22,23,0,1,2 * * *"]);
    check_same(&["0 22-3/2 * * *", "0 22,0,2 * * *"]);
    check_same(&["0 0 1 NOV-FEB *", "0 0 1 11,12,1,2 *"]);
    check_same(&["0 0 30-2 * *", "0 0 30,31,1,2 * *"]);
    check_same(&[
        "0 0 * * FRIL",
        "0 0 * * 5L",
        "0 0 * * 5#L",
        "0 0 * * fridayl",
        "cron(0 0 ? * 6L *)",
    ]);
    check_same(&[
        "0 0 * * SUN#1",
        "0 0 * * 7#1",
        "0 0 * * 0#1",
        "cron(0 0 ? * 1#1 *)",
        "0 0 1-7 * +SUN",
    ]);
    check_same(&["0 0 * * SAT", "cron(0 0 ? * L *)", "cron(0 0 ? * 7 *)"]);
    check_same(&["0 0 L-0 * *", "0 0 L * *", "cron(0 0 L * ? *)"]);
}

#[test]
fn two_day_fields_widen_each_other_unless_one_begins_with_a_star() {
    check_same(&["0 0 13 * FRI", "0 0 13 * FRI,FRI"]);
    assert_ne!(fires("0 0 13 * FRI", ""), fires("0 0 13 * +FRI", ""));
    check_same(&["0 0 */1 * FRI", "0 0 * * FRI", "0 0 ? * FRI"]);
    // `10,*` does not begin with a star, so one matching field is enough, and `*` matches every
    // day.
    check_same(&["0 0 10,* * 2", "0 0 * * *"]);
    check_same(&["0 0 *,10 * 2", "0 0 * * 2"]);
}

#[test]
fn refusals_name_the_field_and_the_place() {
    use Field::*;
    check_refused("61 * * * *", Some(Minute), "61", "minute: 61 is out of range, 0 to 59");
    check_refused("0 0 0 * *", Some(DayOfMonth), "0", "day of month: 0 is out of range, 1 to 31");
    check_refused("0 0 * * 1,8", Some(DayOfWeek), "8", "day of week: 8 is out of range, 0 to 7");
    check_refused(
        "cron(0 0 ? * 0 *)",
        Some(DayOfWeek),
        "0",
        "day of week: 0 is out of range, 1 to 7",
    );
    check_refused(
        "*/90 * * * *",
        Some(Minute),
        "*/90",
        "minute: the step 90 is larger than the field (60 values) and would mean once an hour; \
         for longer intervals use rate(n minutes)",
    );
    check_refused(
        "*5 * * * *",
        Some(Minute),
        "*5",
        "minute: `*5` is not a value; did you mean `*/5`?",
    );
    check_refused(
        "* JAN * * *",
        Some(Hour),
        "JAN",
        "hour: JAN is a month; this field takes no months",
    );
    check_refused("0 0 * * M", Some(DayOfWeek), "M", "day of week: `M` is not the name of a value");
    check_refused("1,,2 * * * *", Some(Minute), "", "minute: a list has an empty item");
    check_refused(
        "1- * * * *",
        Some(Minute),
        "1-",
        "minute: `1-` is incomplete: a value is missing",
    );
    check_refused("*/0 * * * *", Some(Minute), "*/0", "minute: a step must be at least 1");
    check_refused(
        "? * * * *",
        Some(Minute),
        "?",
        "minute: `?` is allowed only alone and only in a day field",
    );
    check_refused(
        "0 0 ?,5 * *",
        Some(DayOfMonth),
        "?",
        "day of month: `?` is allowed only alone and only in a day field",
    );
    check_refused(
        "0 0 0 1 1 * 2030-2025",
        Some(Year),
        "2030-2025",
        "year: a range of years must ascend",
    );
    check_refused("0 0 30 2 *", None, "", "matches no date between 1970 and 2100");
    check_refused("", None, "", "the expression is empty");
    check_refused(
        "* * * *",
        None,
        "* * * *",
        "an expression has 5 fields (minute first), 6 (second first) or 7 (year last), not 4",
    );
    check_refused(
        "@reboot",
        None,
        "@reboot",
        "@reboot is not supported: a schedule belongs to no machine that boots",
    );
    check_refused("0 0 * * *\n", None, "\n", "only printable ASCII is allowed, not `\\n`");
}

#[test]
fn specials_belong_to_their_field_and_stand_alone() {
    for text in [
        "0 0 * * L",
        "0 0 L/2 * *",
        "0 0 LW/2 * *",
        "0 0 L-3W * *",
        "0 0 15W-20 * *",
        "0 0 0W * *",
        "0 0 32W * *",
        "0 0 WL * *",
        "0 0 * * MON-FRI#2",
        "0 0 * * FRI#6",
        "0 0 * * FRI#0",
        "0 0 * * #2",
        "0 0 * * FRI#2#3",
        "0 0 * * FRI#2/2",
        "0 0 * L *",
        "0 L * * *",
        "0 0 * * LFRI",
        "0 0 * * 8L",
        "0 0 * * 5W",
        "0 0 L+1 * *",
        "0 0 +1 * *",
        "0 0 * * ++1",
        "0 0 * * +",
        "0 0 * * 1+2",
        "cron(0 0 ? * +2 *)",
        "cron(0 0 ? * 2#1,3#1 *)",
        "cron(0 0 ? * L-3 *)",
    ] {
        assert!(Cron::parse(text, "").is_err(), "{text}");
    }
}

#[test]
fn the_aws_forms_follow_aws() {
    for text in [
        "cron(0 10 * * * *)",
        "cron(0 10 ? * ? *)",
        "cron(* * * * ?)",
        "cron(0 0 0 1 1 ? 2026)",
        "cron(H 0 1 * ? *)",
        "cron(0 0 1 1 ? 2200)",
        "cron(0 0 1 1 ? 2150)",
        "cron(0 0 1 1 ? *",
        "cron (0 0 1 1 ? *)",
        "cron()",
        "cron",
        "cron(0 0 1 1 ? *))",
        "rate(0 minutes)",
        "rate(-1 minutes)",
        "rate(1.5 hours)",
        "rate(5minutes)",
        "rate()",
        "rate(5 seconds)",
        "rate(5 minutes",
        "rate(99999999999999999999 days)",
        "rate(36526 days)",
        "rate 5 minutes",
        "at(2026-02-30T00:00:00)",
        "at(2026-01-01T24:00:00)",
        "at(2026-01-01 00:00:00)",
        "at(2026-01-01T00:00)",
        "at(2026-01-01T00:00:00Z)",
        "at(2026-1-1T00:00:00)",
        "at(1969-12-31T23:59:59)",
        "at(2200-01-01T00:00:00)",
        "at(+026-01-01T00:00:00)",
    ] {
        assert!(Cron::parse(text, "").is_err(), "{text}");
    }
    check_same(&[
        "rate(1 hour)",
        "rate(60 minutes)",
        "RATE(1 hours)",
        "rate(60 MINUTE)",
        " rate( 1  hour ) ",
    ]);
    check_same(&["0 0 1 1 * ", "cron(0 0 1 1 ? 2000-2199)"]);
    check_same(&["0 18 * * MON-FRI", "cron(0 18 ? * MON-FRI *)", "Cron(0 18 ? * mon-fri *)"]);
}

#[test]
fn h_is_a_value_of_its_own_for_every_schedule_and_field() {
    let spread: std::collections::HashSet<_> =
        (0..50).map(|n| fires("H H * * *", &format!("schedule-{n}"))).collect();
    assert!(spread.len() > 45, "{}", spread.len());
    assert_eq!(fires("H H(0-5) H * *", "a"), fires("h h(0-5) h * *", "a"));
    for n in 0..200 {
        let seed = format!("schedule-{n}");
        let minutes = |text: &str| -> Vec<u32> {
            let mut minutes: Vec<u32> =
                fires(text, &seed).iter().map(|at| at.timestamp() as u32 / 60 % 60).collect();
            minutes.sort_unstable();
            minutes.dedup();
            minutes
        };
        let quarters = minutes("H/15 * * * *");
        assert!(quarters.len() == 4 && quarters[0] < 15, "{quarters:?}");
        assert!(quarters.windows(2).all(|pair| pair[1] - pair[0] == 15));
        let early = minutes("H(0-29) * * * *");
        assert!(early.len() == 1 && early[0] <= 29);
        let tens = minutes("H(0-29)/10 * * * *");
        assert!(tens.len() == 3 && tens[2] <= 29, "{tens:?}");
        // The hashed day is one that every month has, so there is a fire in every month.
        let end: DateTime<Utc> = "2028-01-01T00:00:00Z".parse().unwrap();
        assert!(fires("0 0 H * *", &seed).iter().filter(|at| **at < end).count() >= 23);
        fires("H H H H *", &seed);
        fires("H H * * H", &seed);
    }
    for text in [
        "0 0 0 1 1 * H",
        "H(5) * * * *",
        "H(9-3) * * * *",
        "H(0-60) * * * *",
        "H5 * * * *",
        "H/0 * * * *",
        "H-5 * * * *",
        "HH * * * *",
    ] {
        assert!(Cron::parse(text, "").is_err(), "{text}");
    }
}

#[test]
fn the_text_is_kept_as_it_was_written() {
    assert_eq!(Cron::parse("\t0 9 * * mon-fri  ", "").unwrap().text(), "0 9 * * mon-fri");
}

#[test]
fn an_expression_has_at_most_256_bytes() {
    let long = |n: usize| format!("{}0 0 * * *", " ".repeat(n - 9));
    assert!(Cron::parse(&long(256), "").is_ok());
    assert!(Cron::parse(&long(257), "").is_err());
}

#[test]
fn expressions_and_timetables_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Cron>();
    shared::<Timetable>();
    shared::<Zone>();
}
