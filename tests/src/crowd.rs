//! A crowd: one owner with very many fires due at the same second as another owner's only one.

use std::collections::HashMap;

use aws_sdk_sqs::types::Message;
use belfry_core::id::ScheduleId;
use belfry_core::tick::share::{HandOver, Share, Stretch};
use chrono::Duration;
use dynoxide::types::AttributeValue;
use serde_json::json;

use crate::World;
use crate::embedded::{self, SCHEDULES};

/// The id of ann's only fire.
const ONLY_ONE: &str = "the-only-one@2026-01-01T00:30:00Z";
/// A text that only hand-over messages contain.
const HAND_OVER: &str = "generation";

/// How far ann's fire was from the front.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Requests of the tick before ann's fire was sent.
    pub requests: usize,
    /// Clocks that come before hers in the due index.
    pub clocks_before: usize,
}

/// The number of requests after which the line is cut: far fewer than the whole crowd takes.
const CUT_AFTER: usize = 1500;

/// Ticks over `count` fires of a crowd and one of ann's, until hers is sent.
pub async fn only_one_among(count: usize) -> Place {
    let world = world(&[("TICK_SHARE", "100000"), ("TICK_QUEUE_URL", "")], count).await;
    let clocks_before = clocks_before(&world).await.min(count);
    watch(&world, CUT_AFTER);
    let done = world.meter.until_cut(world.tick_within(Duration::minutes(15))).await;
    assert!(
        done.is_none() || count < CUT_AFTER,
        "the tick finished in {CUT_AFTER} requests: {done:?}"
    );
    Place { requests: sent(&world, ONLY_ONE).unwrap_or(usize::MAX), clocks_before }
}

/// How ann's fire was sent through several ticks.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The rule's tick, and those that received hand-overs, in sequence.
    pub ticks: usize,
    /// Requests of each of them before it handed over, and of the last before the fire was sent.
    pub requests: usize,
}

/// Runs ticks with a share that does not reach ann's fire, and those they hand over to, until it is
/// sent. Their concurrent work is not counted.
pub async fn only_one_behind(share: usize, count: usize) -> Way {
    let world = world(&[("TICK_SHARE", &share.to_string())], count).await;
    let only: ScheduleId = "the-only-one".parse().expect("a name");
    let shard = only.shard(world.app.settings.due_shards);
    let leads_to_her = |message: &Message| {
        let body = serde_json::from_str(message.body().unwrap_or_default());
        let work: HandOver = body.expect("a hand-over");
        matches!(work.share, Share::Shard(stretch) if stretch.shard == shard)
    };
    let mut way = Way { ticks: 1, requests: 0 };
    let mut handed_over = None;
    loop {
        watch(&world, CUT_AFTER);
        match &handed_over {
            None => world.meter.until_cut(world.tick_within(Duration::minutes(15))).await,
            Some(message) => world.meter.until_cut(world.take_over(message)).await,
        };
        if let Some(requests) = sent(&world, ONLY_ONE) {
            way.requests += requests;
            return way;
        }
        way.requests += sent(&world, HAND_OVER).expect("a hand-over of her fire");
        way.ticks += 1;
        world.meter.reset();
        let next = world.handed_over().await.into_iter().find(leads_to_her);
        handed_over = Some(next.expect("a hand-over of her shard"));
    }
}

async fn world(settings: &[(&str, &str)], count: usize) -> World {
    let world = World::with(settings).await;
    world.schedule("the-only-one", "0 30 0 * * *", &json!({})).await;
    import(&world, count);
    world.pass_without_ticks(Duration::minutes(29)).await;
    world
}

fn watch(world: &World, cut_after: usize) {
    world.meter.reset();
    world.meter.watch(ONLY_ONE);
    world.meter.watch(HAND_OVER);
    world.meter.cut_after(cut_after);
}

/// How many requests there were before a message that contains `what` was sent.
fn sent(world: &World, what: &str) -> Option<usize> {
    let all = world.meter.sightings();
    let sent = all.iter().find(|seen| seen.operation == "SendMessageBatch" && seen.what == what);
    sent.map(|seen| seen.before)
}

/// Copies ann's clock under other ids and another owner, written straight to the database to save
/// time.
fn import(world: &World, count: usize) {
    let database = &world.services.database;
    let key = json!({"schedule_id": {"S": "the-only-one"}, "sk": {"S": "clock"}});
    let original = embedded::item(database, SCHEDULES, &key);
    let original: HashMap<String, AttributeValue> =
        serde_json::from_value(original).expect("a clock");
    let shards = world.app.settings.due_shards;
    let copy = |n: usize| {
        let id: ScheduleId = format!("crowd-{n}").parse().expect("a name");
        let mut copy = original.clone();
        let mut set =
            |name: &str, value: String| copy.insert(name.into(), AttributeValue::S(value));
        set("schedule_id", id.to_string());
        set("due_shard", id.shard(shards).to_string());
        set("owner", "crowd".to_owned());
        copy
    };
    let copies: Vec<_> = (0..count).map(copy).collect();
    for chunk in copies.chunks(10_000) {
        let imported = database.import_items(SCHEDULES, chunk.to_vec(), Default::default());
        imported.expect("an import");
    }
}

/// How many clocks come first in the index's own order.
async fn clocks_before(world: &World) -> usize {
    let only: ScheduleId = "the-only-one".parse().expect("a name");
    let shards = world.app.settings.due_shards;
    let mut stretch = Stretch { shard: only.shard(shards), after: None };
    let mut before = 0;
    loop {
        let until = world.now() + Duration::minutes(2);
        let page = world.app.store.due(&stretch, until, 1000).await.expect("a page");
        if let Some(place) = page.clocks.iter().position(|due| due.schedule_id == only) {
            // The other shards are read at the same pace.
            return (before + place) * shards as usize;
        }
        before += page.clocks.len();
        stretch.after = Some(page.rest.expect("her clock is in the index"));
    }
}
