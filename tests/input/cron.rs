//! Cron expressions: every text is refused with a reason or has a next fire, in bounded time.

use belfry_core::cron::{Cron, Timetable, Zone};
use belfry_tests::World;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::{check, odd, runtime};

/// Fields as people write them, mistakes included.
fn expression() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        6 => select(vec![
            "*", "?", "0", "7", "59", "60", "*/5", "*/0", "1-5", "5-1", "FRI-MON", "1,2,,3", "L",
            "L-3", "L-400", "LW", "15W", "99W", "0W", "FRI#2", "FRI#9", "FRIL", "H", "H/15",
            "H(0-5)", "+MON", "MON", "JANUARY", "2026", "1969", "99999", "4294967296", "-1", "1/",
            "/5", "*-*", "1-2-3", "*/4294967296", "30", "31", "29", "2", "FEB", "2099-1970",
        ]).prop_map(str::to_owned),
        1 => "[0-9LWH#?*/,+-]{1,12}",
    ];
    prop_oneof![
        8 => vec(field, 1..9).prop_map(|fields| fields.join(" ")),
        1 => odd::text(),
        1 => select(vec![
            "@daily", "@every 5m", "@reboot", "cron(0 9 ? * MON-FRI *)", "cron(* * * * * *)",
            "rate(5 minutes)", "rate(1 minutes)", "rate(99999999999 days)", "rate(-1 hours)",
            "at(2026-01-01T00:00:00)", "at(2026-02-30T00:00:00)", "at(99999-01-01T00:00:00)",
        ]).prop_map(str::to_owned),
    ]
}

#[test]
fn an_expression_is_refused_with_a_reason_or_fires() {
    check(4000, &expression(), |text| {
        match Cron::parse(&text, "a") {
            Err(problem) => prop_assert!(!problem.to_string().is_empty()),
            Ok(cron) => {
                let zone = Zone::parse("Europe/Berlin").unwrap();
                let from = "2026-03-29T00:59:59Z".parse().unwrap();
                let timetable = Timetable::new(cron, zone).with_anchor(from);
                let fires: Vec<_> = timetable.fires_after(from).take(20).collect();
                prop_assert!(fires.windows(2).all(|pair| pair[0] < pair[1]), "{fires:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn validation_answers_whatever_it_is_asked() {
    let runtime = runtime();
    let world = runtime.block_on(World::new());
    let strategy = (expression(), odd::text(), odd::text(), odd::json());
    check(1000, &strategy, |(text, zone, after, count)| {
        let zone = if zone.len() % 2 == 0 { "America/New_York".to_owned() } else { zone };
        let body = json!({"cron_expr": text, "timezone": zone, "after": after, "count": count});
        let minimal = json!({"cron_expr": text, "after": after, "start_at": after});
        for body in [body, minimal] {
            let call = world.call("POST", "/schedules/validate", &body);
            let (status, answer) = runtime.block_on(call);
            prop_assert!(status < 500, "{status} {answer}");
        }
        Ok(())
    });
}
